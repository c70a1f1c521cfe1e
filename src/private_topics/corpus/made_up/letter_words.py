"""The words of the made-up letters: templates common to all topics, and for each topic what fills their gaps."""

from __future__ import annotations

OPENINGS = ("Dear hospital,", "Hello,", "Good morning,", "To whom it may concern,", "Dear doctors,")
CLOSES = ("Yours sincerely,", "Kind regards,", "Thanks,", "Best wishes,", "Yours,")
TEMPLATES = (
    "The {thing} was {quality} and so was the {other}.",
    "I {deed} because of the {thing}, which was {quality}.",
    "Nobody explained the {other}, so we {deed}.",
    "We all found the {thing} {quality}.",
    "When I {deed}, the {other} was {quality}.",
    "It was about the {thing} and the {other}.",
    "There was a {quality} {thing} and we {deed}.",
)
SYLLABLES = (
    "bar", "bel", "cor", "dan", "den", "dor", "fal", "fen", "gar", "hol", "jen", "kel", "lan", "lor", "mar", "mel",
    "nor", "pel", "ros", "sel", "tam", "tor", "val", "wen", "wick",
)  # fmt: skip
TOPICS: dict[str, dict[str, tuple[str, ...]]] = {
    "waiting times": {
        "thing": ("queue", "delay", "emergency department", "triage", "waiting room", "wait", "line", "number board"),
        "other": ("hours", "clock", "turn", "afternoon", "corridor", "minutes", "triage nurse", "screen"),
        "quality": ("long", "endless", "slow", "overcrowded", "unexplained", "exhausting"),
        "deed": ("waited", "sat for hours", "queued", "stood in line", "watched the clock", "left unseen"),
    },
    "nurses' kindness": {
        "thing": ("nurse", "ward sister", "night nurse", "healthcare assistant", "matron", "nursing team", "midwife"),
        "other": ("smile", "compassion", "patience", "bedside manner", "reassurance", "gentle hand", "care"),
        "quality": ("kind", "caring", "gentle", "attentive", "cheerful", "compassionate", "wonderful"),
        "deed": ("felt safe", "was comforted", "was listened to", "laughed together", "felt looked after"),
    },
    "appointments": {
        "thing": ("appointment", "booking", "reschedule letter", "clinic date", "referral", "reminder"),
        "other": ("calendar", "receptionist", "portal", "consultant slot", "confirmation", "voicemail", "date"),
        "quality": ("cancelled", "postponed", "double booked", "rearranged", "confusing", "rescheduled"),
        "deed": ("called again", "rebooked", "rang reception", "changed the date", "missed the slot", "phoned twice"),
    },
    "food": {
        "thing": ("breakfast", "meal", "lunch", "dinner", "soup", "menu", "vegetables", "porridge", "sandwich"),
        "other": ("kitchen", "tray", "tea", "portion", "dietitian", "dessert", "coffee", "vegetarian option"),
        "quality": ("cold", "tasteless", "tasty", "overcooked", "hot", "bland", "delicious", "salty"),
        "deed": ("ate little", "skipped dinner", "ordered soup", "went hungry", "brought snacks", "drank tea"),
    },
    "pain": {
        "thing": ("pain", "surgery", "medication", "morphine", "wound", "injection", "knee operation", "tablets"),
        "other": ("dose", "painkiller", "surgeon", "anaesthetic", "stitches", "physiotherapy", "recovery"),
        "quality": ("severe", "unbearable", "sore", "swollen", "sharp", "bearable", "numb"),
        "deed": ("asked for painkillers", "could not sleep", "took paracetamol", "screamed", "limped", "recovered"),
    },
    "discharge": {
        "thing": ("discharge", "discharge summary", "transport home", "prescription", "pharmacy", "care plan"),
        "other": ("social worker", "ambulance", "follow up", "paperwork", "district nurse", "medicines bag", "home"),
        "quality": ("rushed", "premature", "disorganised", "late", "planned", "chaotic", "smooth"),
        "deed": ("went home", "collected the prescription", "packed my bag", "waited for pharmacy", "was readmitted"),
    },
    "parking": {
        "thing": ("parking", "car park", "ticket machine", "parking space", "barrier", "bus stop", "entrance road"),
        "other": ("fine", "meter", "disabled bay", "coins", "permit", "bicycle stand", "traffic", "taxi rank"),
        "quality": ("expensive", "full", "broken", "narrow", "distant", "unlit", "free"),
        "deed": ("drove around", "parked outside", "paid the meter", "circled the car park", "walked uphill"),
    },
    "billing": {
        "thing": ("bill", "invoice", "insurance claim", "payment", "account statement", "charge", "refund"),
        "other": ("insurer", "billing office", "receipt", "copayment", "balance", "deductible", "bank", "amount"),
        "quality": ("wrong", "itemised", "overdue", "duplicate", "overcharged", "correct", "outstanding"),
        "deed": ("paid twice", "disputed the invoice", "called billing", "was charged", "claimed a refund"),
    },
    "cleanliness": {
        "thing": ("bathroom", "floor", "toilet", "bed linen", "shower", "sink", "ward kitchenette", "curtain"),
        "other": ("cleaner", "soap", "smell", "dust", "bin", "hand gel", "mop", "towel"),
        "quality": ("dirty", "clean", "filthy", "spotless", "stained", "smelly", "dusty"),
        "deed": ("washed my hands", "wiped the table", "asked for clean sheets", "cleaned it ourselves"),
    },
}  # fmt: skip
