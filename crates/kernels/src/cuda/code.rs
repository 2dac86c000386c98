//! Compiled kernels, committed beside their source in `cu/`: PTX, which the driver compiles for the chip at hand, and machine
//! code for one kind of chip, which it takes as it is.

use std::borrow::Cow;

/// The compute capability that there is machine code for: H100, H200.
pub(super) const MACHINE: (u32, u32) = (9, 0);

/// The compiled code of one source file, with those of its kernels that are loaded together.
#[derive(Debug, Clone, Copy)]
pub struct Code {
    /// The file's name in `cu/`, without its ending.
    pub name: &'static str,
    /// The whole PTX.
    pub ptx: &'static str,
    /// The same, compiled for compute capability 9.0.
    pub cubin: &'static [u8],
    /// The kernels that are looked up in it.
    pub kernels: &'static [&'static str],
}

/// The code of a file of `cu/`, with the kernels that are looked up in it.
macro_rules! code {
    ($file:expr, $kernels:expr) => {
        $crate::cuda::code::Code {
            name: $file,
            ptx: include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/cu/", $file, ".ptx")),
            cubin: include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/cu/", $file, ".sm_90.cubin")),
            kernels: $kernels,
        }
    };
}
pub(super) use code;

impl Code {
    /// The PTX without the kernels that are not looked up: each would take the driver as long to compile as those that are.
    pub(super) fn ptx_without_others(&self) -> Cow<'static, str> {
        let entry = |line: &'static str| Some(line.strip_prefix(".visible .entry ")?.split_once('(')?.0);
        let wanted = |kernel| self.kernels.contains(&kernel);
        if self.ptx.lines().filter_map(entry).all(wanted) {
            return Cow::Borrowed(self.ptx);
        }
        let mut within_other = false;
        let kept = self.ptx.split_inclusive('\n').filter(|line| {
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
        let code = |kernels| Code { name: "", ptx: TEXT, cubin: &[], kernels };
        let second =
            ".version 8.0\n.func f(\n)\n{\n\tret;\n}\n.shared .b8 s[4];\n.visible .entry second(\n)\n{\n\tret;\n}\n";
        let first = TEXT.split_inclusive('\n').take(13).chain([".shared .b8 s[4];\n"]).collect::<String>();
        assert_eq!(code(&["second"]).ptx_without_others(), second);
        assert_eq!(code(&["first"]).ptx_without_others(), first);
        assert_eq!(code(&["first", "second"]).ptx_without_others(), TEXT);
    }
}
