"""Function words of seven languages: articles, pronouns, prepositions, conjunctions, auxiliaries.

Public lists, fixed here and not made from any corpus. Words are split at apostrophes, so the parts of contractions
("don", "ll", "qu") are listed too.
"""

from __future__ import annotations

ENGLISH = """
a about above across after afterwards again against ain all almost alone along already also although always am among
amongst an and another any anybody anyone anything anywhere are aren around as at away back be became because become
becomes been before beforehand behind being below beside besides between beyond both but by came can cannot come
comes could couldn d did didn do does doesn doing don done down due during each either else elsewhere enough etc
even ever every everybody everyone everything everywhere except few first for former formerly from further
furthermore gave get gets getting give given gives go goes going gone got had hadn has hasn have haven having he
hence her here hereby herein hers herself him himself his how however i ie if in indeed instead into is isn it its
itself just keep kept last latter least less ll m made make makes making many may maybe me meanwhile might mightn
mine more moreover most mostly much must mustn my myself namely near nearly need needn neither never nevertheless
next no nobody none nonetheless nor not nothing now nowhere o of off often on once one only onto or other others
otherwise ought our ours ourselves out over own per perhaps put quite rather re really s said same say says see seem
seemed seeming seems seen several shall shan she should shouldn since so some somebody somehow someone something
sometime sometimes somewhere still such t take taken than that the their theirs them themselves then thence there
thereafter thereby therefore therein thereof these they this those though through throughout thus to together too
took toward towards under unless until up upon us use used uses using usually various ve very via was wasn we well
went were weren what whatever when whence whenever where whereas whereby wherein whereupon wherever whether which
whichever while who whoever whole whom whose why will with within without won would wouldn yes yet you your yours
yourself yourselves
"""

GERMAN = """
ab aber alle allem allen aller allerdings alles als also am an ander andere anderem anderen anderer anderes auch auf
aus außer außerdem bei beide beiden beim bereits bevor bin bis bisher bist da dabei dadurch dafür dagegen daher
damals damit danach daneben dann daran darauf daraus darf darfst darin darum darunter darüber das dass davon davor
dazu dein deine deinem deinen deiner deines dem demnach den denen denn dennoch der deren derer des deshalb dessen
desto dich die dies diese dieselbe dieselben diesem diesen dieser dieses dir doch dort du durch durfte dürfen ebenso
ein eine einem einen einer eines einige einigem einigen einiger einiges einmal er erst es etwa etwas euch euer eure
eurem euren eurer falls fast für gab ganz gar gegen gehabt gemacht genug gewesen geworden gibt ging habe haben hast
hat hatte hatten hattest her heraus herum hier hin hinter hätte hätten ich ihm ihn ihnen ihr ihre ihrem ihren ihrer
ihres im immer in indem infolge innerhalb ins irgend ist ja je jede jedem jeden jeder jedes jedoch jemand jene jenem
jenen jener jenes jetzt kann kannst kaum kein keine keinem keinen keiner keines konnte konnten können könnte könnten
lassen machen mal man manche manchem manchen mancher manches mehr mein meine meinem meinen meiner meines meist mich
mir mit muss musst musste mussten möchte mögen müssen nach nachdem neben nein nicht nichts nie niemand noch nun nur
nämlich ob oben obwohl oder oft ohne per schon sehr sei seid sein seine seinem seinen seiner seines seit selbst sich
sie sind so sobald sodass sogar solche solchem solchen solcher solches soll sollen sollte sollten somit sondern
sonst sowie sowohl statt trotz trotzdem um und uns unser unsere unserem unseren unserer unter viel viele vielen
vieler vom von vor wann war waren warum was weder wegen weil weiter weitere weiteren welche welchem welchen welcher
welches wenig wenige wenn wer werde werden wessen wie wieder will wir wird wo wobei wodurch wohl wollen wollte
wollten worden wurde wurden während würde würden zu zudem zum zur zwar zwischen über überall
"""

FRENCH = """
afin ai aie aient ainsi ait alors après as assez au aucun aucune aucuns auprès auquel aura auraient aurait aussi
autant autour autre autres aux auxquelles auxquels avaient avais avait avant avec avez avoir avons ayant beaucoup
bien c car ce ceci cela celle celles celui cependant certain certaine certaines certains ces cet cette ceux chacun
chacune chaque chez ci comme comment d dans de debout dedans dehors delà depuis dernier des desquelles desquels
dessous dessus deux devant doit doivent donc dont du duquel durant dès déjà elle elles en encore enfin entre envers
es est et eu eut eux faire fait faut fois font furent fut grâce hors ici il ils j jamais je jusqu jusque l la
laquelle le lequel les lesquelles lesquels leur leurs lors lorsque lui là m ma mais malgré me mes mien mienne moi
moins mon même mêmes n ne ni non nos notre nous néanmoins nôtre nôtres on ont or ou outre où par parce parfois parmi
pas pendant personne peu peut peuvent plus plusieurs plutôt pour pourquoi pourtant presque près puis puisque qu
quand quant que quel quelle quelles quelqu quelque quelques quels qui quoi quoique rien s sa sans sauf se selon sera
seraient serait seront ses seulement si sien sienne sinon soi soient soit sommes son sont sous souvent suis sur
surtout t ta tandis tant te tel telle telles tels tes toi ton toujours tous tout toute toutefois toutes trop très tu
un une unes uns va vers voici voilà vos votre vous vu vôtre vôtres y à ça étaient étais était étant été êtes être
"""

SPANISH = """
a acaso además ahora ahí al algo alguien alguna algunas alguno algunos algún allá allí ambos ante antes apenas aquel
aquella aquellas aquello aquellos aquí así aun aunque aún bajo bastante bien cabe cada casi cierta ciertas cierto
ciertos como con conmigo consigo contigo contra cual cuales cualquier cualquiera cuando cuanta cuantas cuanto
cuantos cuya cuyas cuyo cuyos cuál cuándo cómo da dado de debe deben del demás dentro desde después donde durante
dónde e el ella ellas ello ellos embargo en encima entonces entre era eran eras eres es esa esas ese eso esos esta
estaba estaban estado estamos estar estas este esto estos estoy estuve estuvo está están excepto fue fuera fueron
fui ha haber habrá había habían hace hacen hacer hacia han has hasta hay haya he hecho hemos hizo hubo incluso la
las le les lo los luego mas me mediante menos mi mientras mis misma mismas mismo mismos mucha muchas mucho muchos
muy más mí mía mías mío míos nada nadie ni ninguna ninguno ningún no nos nosotras nosotros nuestra nuestras nuestro
nuestros nunca o os otra otras otro otros para pero poca pocas poco pocos podía por porque pude puede pueden puedo
pues que quien quienes quiere quién qué se sea sean según ser será serán si sido siempre siendo sin sino so sobre
solamente solo somos son soy su sus suya suyas suyo suyos sí sólo tal tales también tampoco tan tanta tantas tanto
tantos te tenemos tener tengo tenía ti tiene tienen toda todas todavía todo todos tras tu tus tuvo tuya tuyo tú u un
una unas uno unos usted ustedes va vamos van varias varios vosotras vosotros vuestra vuestras vuestro vuestros y ya
yo él éramos
"""

ITALIAN = """
a abbia abbiamo abbiano ad affinché agli ai al alcun alcuna alcune alcuni alcuno all alla alle allo allora altra
altre altri altro anche ancora anzi appena attraverso avendo aver avere aveva avevano avuto bensì c che chi chiunque
ci ciascun ciascuna ciascuno cioè ciò coi col come con contro cosa così cui d da dagli dai dal dall dalla dalle
dallo davanti degli dei del dell della delle dello dentro di dietro dopo dove dovrebbe due dunque durante e ebbe
ecco ed egli ella entrambi era erano essa esse essendo esser essere essi faceva fare fatto fece fin finché fino
forse fosse fossero fra fu fui furono già gli gliela gliele glielo ha hai hanno ho i il in infatti infine inoltre
insieme intanto invece io l la le lei li lo loro lui lungo là lì ma mai malgrado me medesimo mediante meno mentre
mezzo mi mia mie miei mio molta molte molti molto ne negli nei nel nell nella nelle nello nemmeno neppure nessun
nessuna nessuno niente noi non nondimeno nostra nostre nostri nostro nulla né o od ogni ognuno oltre oppure ora
ossia per perché perciò perfino pertanto però piuttosto più po poca poche pochi poco poi poiché presso prima proprio
pur pure può qua qual qualche qualcosa qualcuno quale quali qualora qualsiasi qualunque quando quanta quante quanti
quanto quasi quegli quei quel quell quella quelle quelli quello quest questa queste questi questo qui quindi s
sarebbe sarà se sebbene secondo sei sembra sempre senza sia siamo siano siccome siete solo soltanto sono sopra sotto
sta stata state stati stato stava stesso su sua sue sugli sui sul sull sulla sulle sullo suo suoi sé tale tali
talvolta tanto te ti tra tranne troppo tu tua tue tuo tuoi tutt tutta tuttavia tutte tutti tutto un una uno v va
verso vi via voi vostra vostre vostri vostro è
"""

PORTUGUESE = """
a acerca agora ainda algo algum alguma algumas alguns alguém ali além ambos ante antes ao aos apenas apesar após
aquela aquelas aquele aqueles aqui aquilo as assim através atrás até aí bastante bem cada cerca certa certas certo
certos com como conforme consigo contra contudo cuja cujas cujo cujos da daquela daquele das de dela delas dele
deles demais dentro depois desde dessa dessas desse desses desta destas deste destes deve devem diante disso disto
do dos durante e ela elas ele eles em embora enquanto entanto entre então era eram essa essas esse esses esta
estamos estar estas estava estavam este estes esteve estive estou está estão eu exceto faz fazem fazer feito fez
fica foi fora foram fosse fui haver havia há isso isto jamais já la lhe lhes lo logo longe lá mais mal mas me
mediante meio menos mesma mesmas mesmo mesmos meu meus mim minha minhas muita muitas muito muitos na nada naquela
naquele nas nela nele nem nenhum nenhuma nessa nesse nesta neste nisso nisto no nos nossa nossas nosso nossos num
numa nunca não nós o onde ora os ou outra outras outro outros para pela pelas pelo pelos per perante pode podem pois
por porque porquê portanto porém possível pouca poucas pouco poucos própria próprio quais qual qualquer quando
quanta quantas quanto quantos quase que quem quer quê se segundo seja sejam sem sempre sendo senão ser será serão
seu seus si sido sob sobre somente somos sou sua suas são só tais tal talvez também tampouco tanta tanto te tem
temos tendo tenha tenho ter teu teus teve ti tido tinha tinham toda todas todavia todo todos tu tua tuas tudo tão
têm um uma umas uns vai vem você vocês vos vossa vosso várias vários vão vós à àquela àquele às é és
"""

DUTCH = """
aan achter af al aldus alhoewel alle allebei alleen alles als alsof altijd ander andere anderen anders behalve beide
ben beneden bent bij bijna binnen boven buiten daar daarbij daardoor daarin daarmee daarna daarom daarop daarvan
daarvoor dan dat de deze dezelfde die dit doch doe doen doet door dus een eens eer eerst elk elke en enig enige
enkel enkele er erg ergens etc even ga gaan gaat geen gehad geweest geworden had hadden heb hebben hebt heeft heel
hem hen het hier hierbij hierdoor hij hoe hoewel hun ik in indien is ja je jij jou jouw jullie kan kon konden kunnen
kunt liever maar mag me meer meest meestal men met mij mijn moest moesten moet moeten mogen na naar naast nadat net
niemand niet niets nog nogal nooit nu of ofschoon om omdat omhoog omstreeks ondanks onder ons onze ook op over
overal pas per reeds rond rondom sinds slechts sommige soms steeds straks te tegen tegenover ten tenzij ter terwijl
tijdens toch toe toen tot totdat tussen u uit uw van vanaf vanuit vanwege veel via voor vooraf vooral vrij waar
waarbij waardoor waarin waarom waarop waarvan wanneer want waren was wat we weer weg weinig wel welk welke werd
werden wie wij wil wilde word worden wordt zal ze zeer zelf zelfs zich zichzelf zij zijn zo zoals zodat zonder zou
zouden zowel zullen één
"""

STOP_WORDS: dict[str, frozenset[str]] = {
    "english": frozenset(ENGLISH.split()),
    "german": frozenset(GERMAN.split()),
    "french": frozenset(FRENCH.split()),
    "spanish": frozenset(SPANISH.split()),
    "italian": frozenset(ITALIAN.split()),
    "portuguese": frozenset(PORTUGUESE.split()),
    "dutch": frozenset(DUTCH.split()),
}
"""Stop words by language, lower case, in NFC."""
