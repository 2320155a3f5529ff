//! What makes an answer long.

/// How many bytes one number has.
const BLOCK: usize = 1024;

/// So many bytes, in which each number comes once, in order: it shows what is missing of them, and what came twice.
pub fn filler(bytes: usize) -> String {
    let mut filler: String = (0..bytes.div_ceil(BLOCK)).map(|number| format!("{number:0BLOCK$}")).collect();
    filler.truncate(bytes);
    filler
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_block_is_a_number_of_its_own() {
        let text = filler(2 * BLOCK + 5);
        assert_eq!((text.len(), &text[BLOCK - 2..BLOCK + 2]), (2 * BLOCK + 5, "0000"));
        assert_eq!((text[BLOCK..2 * BLOCK].parse(), text[2 * BLOCK..].parse()), (Ok(1), Ok(0)));
        assert_eq!(filler(0), "");
    }
}
