"""English plurals to singulars, by rules that leave a word as it is where they are not sure.

A stemmer that only cuts endings makes `diagnosi`, `viru` and `glasse` of what it meets; here an ending is cut where
the rest is a word, and Greek and Latin plurals of medicine and science go back to their singulars. What rules get
wrong is listed. `singular(singular(word)) == singular(word)`, so that a vocabulary can be counted again.
"""

from __future__ import annotations

PAIRS = """
children:child men:man women:woman feet:foot teeth:tooth mice:mouse geese:goose lice:louse oxen:ox axes:axis
crises:crisis irises:iris pelvises:pelvis penises:penis clitorises:clitoris epidermises:epidermis gases:gas
biases:bias atlases:atlas canvases:canvas aliases:alias pancreases:pancreas lenses:lens pancreata:pancreas buses:bus
quizzes:quiz yeses:yes menus:menu gurus:guru emus:emu lives:life wives:wife knives:knife midwives:midwife
housewives:housewife leaves:leaf halves:half calves:calf thieves:thief loaves:loaf hooves:hoof scarves:scarf
elves:elf sheaves:sheaf vertebrae:vertebra larvae:larva formulae:formula bursae:bursa fistulae:fistula
papillae:papilla antennae:antenna algae:alga pleurae:pleura sequelae:sequela striae:stria petechiae:petechia
nuclei:nucleus fungi:fungus bacilli:bacillus bronchi:bronchus stimuli:stimulus thrombi:thrombus emboli:embolus
alveoli:alveolus foci:focus calculi:calculus nevi:nevus naevi:naevus villi:villus cacti:cactus bacteria:bacterium
criteria:criterion phenomena:phenomenon ova:ovum diverticula:diverticulum sera:serum ganglia:ganglion
spectra:spectrum strata:stratum curricula:curriculum septa:septum indices:index appendices:appendix matrices:matrix
vertices:vertex cortices:cortex helices:helix cervices:cervix apices:apex varices:varix carcinomata:carcinoma
stigmata:stigma stomata:stoma movies:movie calories:calorie cookies:cookie zombies:zombie rookies:rookie
selfies:selfie hoodies:hoodie brownies:brownie smoothies:smoothie prairies:prairie genies:genie pixies:pixie
aunties:auntie indies:indie goodies:goodie cuties:cutie hippies:hippie junkies:junkie veggies:veggie
"""
WHOLE = """
acoustics aesthetics afterwards agnes alias always anaesthetics angeles arkansas asbestos ascites athens athletics
atlas bacteroides barnes besides bias biceps brussels canvas caries chaos charles christmas clothes corps cosmos
dallas davies diabetes dolores douglas downstairs dynamics economics electronics ethics ethos facies faeces feces
forceps gas genetics genomics geriatrics giles gladys gonzales gymnastics hamas headquarters hermes herpes hives
holmes honduras hughes informatics james jonas jones judas jules kansas kinetics kudos lens linguistics logistics
lucas mars massachusetts mathematics maths measles mechanics mens moses mumps naples netherlands news nicholas
nowadays obstetrics optics orleans orthopaedics orthopedics overseas paediatrics pancreas pants pathos pediatrics
perhaps pharmacodynamics pharmacokinetics physics politics proteomics psoas quadriceps rabies reyes rhinoceros
rickets robotics saccharomyces scabies scissors series shingles shorts sideways sometimes species statistics
streptomyces texas thanks thermodynamics thermos thomas tobias towards trans triceps trousers upstairs vegas versus
wales whereabouts whereas williams womens yes yves
"""
CUT_S = """
abuses accuses aches aloes amuses avalanches backaches bellyaches bemuses blouses caches canoes confuses creches
defuses diffuses disabuses does earaches effuses excuses floes foes fuses headaches heartaches hoes horseshoes
infuses misuses moustaches muses mustaches niches oboes overuses pastiches perfuses peruses psyches quiches recluses
refuses reuses roes ruses shoes spouses stomachaches suffuses throes tiptoes toes toothaches transfuses uses woes
"""
NO_OSIS = """
celluloses chooses closes composes decomposes deposes discloses disposes doses encloses exposes fructoses glucoses
hoses imposes lactoses loses microdoses noses opposes overdoses poses presupposes primroses proposes purposes
repurposes roses sucroses supposes transposes underdoses
"""
IRREGULAR = dict(pair.split(":") for pair in PAIRS.split())
UNCHANGED = frozenset(WHOLE.split())
UNCHANGED_ENDINGS = (
    "physics",
    "politics",
    "ethics",
    "genetics",
    "series",
    "species",
    "monas",
    "kins",
    "ss",
    "us",
    "is",
)
IN_F = ("wolves", "selves", "shelves")
IN_E = frozenset(CUT_S.split())
"""Words in -ches, -oes and -uses of which only the s is cut."""
IN_OSIS = (
    *("gn", "en", "mb", "br", "nec", "pt", "ych", "eur", "rrh", "ler", "yt", "kyl", "cid", "bi", "morph", "hypn"),
    *("lor", "kal", "rth", "mat", "er", "rd", "ic", "il", "uc", "sm", "phr", "pop", "mei", "mit", "xer", "yph"),
)
"""What stands before -oses where the singular ends in -osis, unless the word is one of these."""
IN_OSE = frozenset(NO_OSIS.split())


def singular(word: str) -> str:
    """The singular of an English plural; any other word as it is. Words of three letters or fewer stay whole."""
    if len(word) <= 3 or word in UNCHANGED:
        return word
    found = IRREGULAR.get(word) or _by_rule(word)
    return IRREGULAR.get(found, found)  # `childrens`


def _by_rule(word: str) -> str:
    if not word.endswith("s") or word.endswith(UNCHANGED_ENDINGS):
        return word
    if word.endswith(IN_F):
        return f"{word[:-3]}f"
    if word.endswith("ies"):
        return word[:-1] if len(word) == 4 or word.endswith(("eies", "aies")) else f"{word[:-3]}y"
    return _without_es(word) if word.endswith("es") else word[:-1]


def _without_es(word: str) -> str:
    """Endings in -es: a vowel of the singular, or of the plural?"""
    if word in IN_E:
        return word[:-1]
    if word.endswith(("sses", "shes", "ches", "xes", "zzes", "tzes", "oes")):
        return word[:-2]
    if word.endswith(("yses", "theses", "stases", "pareses", "geneses", "kineses")):
        return f"{word[:-2]}is"
    if word.endswith("oses") and word not in IN_OSE and word[:-4].endswith(IN_OSIS):
        return f"{word[:-2]}is"
    if word.endswith("uses") and len(word) > 4 and word[-5] not in "aeo":
        return word[:-2]
    return word[:-1]
