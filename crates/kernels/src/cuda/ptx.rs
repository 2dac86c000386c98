//! PTX, the text that the driver compiles, committed beside its source in `cu/`.

use std::borrow::Cow;

/// Kernels of one source file that are compiled together.
#[derive(Debug, Clone, Copy)]
pub struct Ptx {
    /// The file's name in `cu/`, without `.ptx`.
    pub name: &'static str,
    /// The whole file.
    pub text: &'static str,
    /// The kernels that are looked up in it.
    pub kernels: &'static [&'static str],
}

impl Ptx {
    /// The file without the kernels that are not looked up: each would take the driver as long to compile as those that are.
    pub(super) fn without_others(&self) -> Cow<'static, str> {
        let entry = |line: &'static str| Some(line.strip_prefix(".visible .entry ")?.split_once('(')?.0);
        let wanted = |kernel| self.kernels.contains(&kernel);
        if self.text.lines().filter_map(entry).all(wanted) {
            return Cow::Borrowed(self.text);
        }
        let mut within_other = false;
        let kept = self.text.split_inclusive('\n').filter(|line| {
            within_other |= entry(line).is_some_and(|kernel| !wanted(kernel));
            let keep = !within_other;
            within_other &= line.trim_end() != "}";
            keep
        });
        Cow::Owned(kept.collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = ".version 8.0\n.func f(\n)\n{\n\tret;\n}\n.visible .entry first(\n)\n{\n\t{\n\t}\n\tret;\n}\n\
                        .shared .b8 s[4];\n.visible .entry second(\n)\n{\n\tret;\n}\n";

    #[test]
    fn only_kernels_that_are_looked_up_are_compiled() {
        let ptx = |kernels| Ptx { name: "", text: TEXT, kernels };
        let second =
            ".version 8.0\n.func f(\n)\n{\n\tret;\n}\n.shared .b8 s[4];\n.visible .entry second(\n)\n{\n\tret;\n}\n";
        let first = TEXT.split_inclusive('\n').take(13).chain([".shared .b8 s[4];\n"]).collect::<String>();
        assert_eq!(ptx(&["second"]).without_others(), second);
        assert_eq!(ptx(&["first"]).without_others(), first);
        assert_eq!(ptx(&["first", "second"]).without_others(), TEXT);
    }
}
