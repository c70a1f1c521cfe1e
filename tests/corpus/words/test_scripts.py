"""Text without spaces between words: no clause of it becomes a word, and nothing about it is guessed."""

import pytest

from private_topics import InputError, PrivateSpectralLDA, PrivateVocabulary, Tokeniser, fit_texts
from private_topics.corpus.words.scripts import (
    SEGMENTERS,
    longer_than_a_word,
    written_without_spaces,
)

CLAUSES = {
    "chinese": ["患者昨天下午因为胸痛入院", "医生说没有大问题", "他很高兴", "回家了"],
    "japanese": ["患者は昨日の午後に胸の痛みで入院した", "ありがとうございます", "大丈夫です"],
    "thai": ["ผู้ป่วยเข้าโรงพยาบาลเมื่อวานนี้", "ขอบคุณครับ"],
    "lao": ["ຄົນເຈັບເຂົ້າໂຮງໝໍມື້ວານນີ້", "ຂອບໃຈ"],
    "khmer": ["អ្នកជំងឺចូលមន្ទីរពេទ្យម្សិលមិញ", "អរគុណ"],
    "burmese": ["လူနာသည်မနေ့ကဆေးရုံတက်ခဲ့သည်", "ကျေးဇူးတင်ပါတယ်"],
}


@pytest.mark.parametrize("language", CLAUSES)
@pytest.mark.parametrize("case", ["lower", "casefold", "keep"])
def test_no_part_of_a_clause_is_a_word(language, case):
    tokeniser = Tokeniser(case=case, min_length=1, languages=(), digits=True)
    for clause in CLAUSES[language]:
        assert tokeniser.words(f"MRI {clause}。{clause}ok x{clause}7 fine") == [
            *tokeniser.words("MRI"),
            *tokeniser.words("fine"),
        ]


@pytest.mark.filterwarnings("ignore::private_topics.PrivacyWarning")
def test_a_private_fit_releases_no_clause():
    """Clauses that every unit writes: today's vocabulary would have been full of them."""
    texts = [f"the nurse was kind, parking and soup. {'。'.join(CLAUSES['chinese'])}"] * 400
    model = PrivateSpectralLDA(2, epsilon=50.0, delta=1e-5, noise_seed=1)
    fit_texts(model, texts, PrivateVocabulary(), Tokeniser(min_length=1))
    assert {"nurse", "kind", "parking", "soup"} <= set(model.feature_names_in_)
    assert not any(map(written_without_spaces, model.feature_names_in_))


def test_segmented_text_is_read_and_a_clause_in_it_is_still_none():
    tokeniser = Tokeniser(min_length=1, languages=(), segmented=True)
    words = ["患者", "昨天", "胸痛", "コミュニケーション", "มหาวิทยาลัย"]
    assert tokeniser.words(" ".join(words)) == words
    assert tokeniser.words("患者昨天下午因为胸痛入院") == []
    assert longer_than_a_word(CLAUSES["thai"][0])


@pytest.mark.parametrize("word", ["Straße", "한국어텍스트입니다", "привет", "हिन्दी", "مرحبا", "ελλάδα", "lung"])
def test_scripts_with_spaces_are_left_alone(word):
    assert not written_without_spaces(word)
    assert Tokeniser(languages=(), case="keep").words(word) == [word]


@pytest.mark.parametrize("language", SEGMENTERS)
def test_a_language_without_spaces_is_refused_with_a_word_on_how_to_segment_it(language):
    for segmented in (False, True):
        with pytest.raises(InputError, match="segment it first, for example with") as refused:
            Tokeniser(languages=("english", language), segmented=segmented)
        assert SEGMENTERS[language] in str(refused.value)
