//! Decimal digits of all scripts (general category Nd), for phone numbers.
//!
//! Unicode guarantees that the ten digits of a set have consecutive code points from zero to nine,
//! so a table of the zeros is sufficient. Superscripts, circled numbers and numerals are not
//! digits.

/// The zeros of all digit sets beyond ASCII, ascending (Unicode 17).
const ZEROS: [u32; 76] = [
    0x0660, 0x06F0, 0x07C0, 0x0966, 0x09E6, 0x0A66, 0x0AE6, 0x0B66, 0x0BE6, 0x0C66, 0x0CE6, 0x0D66,
    0x0DE6, 0x0E50, 0x0ED0, 0x0F20, 0x1040, 0x1090, 0x17E0, 0x1810, 0x1946, 0x19D0, 0x1A80, 0x1A90,
    0x1B50, 0x1BB0, 0x1C40, 0x1C50, 0xA620, 0xA8D0, 0xA900, 0xA9D0, 0xA9F0, 0xAA50, 0xABF0, 0xFF10,
    0x104A0, 0x10D30, 0x10D40, 0x11066, 0x110F0, 0x11136, 0x111D0, 0x112F0, 0x11450, 0x114D0,
    0x11650, 0x116C0, 0x116D0, 0x116DA, 0x11730, 0x118E0, 0x11950, 0x11BF0, 0x11C50, 0x11D50,
    0x11DA0, 0x11DE0, 0x11F50, 0x16130, 0x16A60, 0x16AC0, 0x16B50, 0x16D70, 0x1CCF0, 0x1D7CE,
    0x1D7D8, 0x1D7E2, 0x1D7EC, 0x1D7F6, 0x1E140, 0x1E2F0, 0x1E4F0, 0x1E5F1, 0x1E950, 0x1FBF0,
];

/// The value of a decimal digit of any script.
pub fn decimal_digit(c: char) -> Option<u8> {
    let code = u32::from(c);
    if code < 0x80 {
        return c.to_digit(10).and_then(|value| u8::try_from(value).ok());
    }
    let zeros_up_to = ZEROS.partition_point(|&zero| zero <= code);
    let zero = ZEROS.get(zeros_up_to.checked_sub(1)?)?;
    let value = u8::try_from(code - zero).ok()?;
    (value < 10).then_some(value)
}

#[cfg(test)]
mod tests {
    use icu_properties::CodePointMapData;
    use icu_properties::props::GeneralCategory;

    use super::*;

    #[test]
    fn digits_of_every_script_have_their_value() {
        for digits in
            ["0123456789", "٠١٢٣٤٥٦٧٨٩", "०१२३४५६७८९", "０１２３４５６７８９", "𝟘𝟙𝟚𝟛𝟜𝟝𝟞𝟟𝟠𝟡"]
        {
            let values: Vec<_> = digits.chars().filter_map(decimal_digit).collect();
            assert_eq!(values, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9], "{digits}");
        }
    }

    #[test]
    fn the_table_is_general_category_nd() {
        let category = CodePointMapData::<GeneralCategory>::new();
        for c in (0..=0x10_FFFF).filter_map(char::from_u32) {
            let is_nd = category.get(c) == GeneralCategory::DecimalNumber;
            assert_eq!(decimal_digit(c).is_some(), is_nd, "U+{:04X}", u32::from(c));
        }
    }

    #[test]
    fn numbers_that_are_not_digits_have_no_value() {
        for c in ['²', '①', '½', 'Ⅷ', '一', 'a', '-'] {
            assert_eq!(decimal_digit(c), None, "{c}");
        }
    }
}
