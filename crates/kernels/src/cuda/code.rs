//! Compiled kernels, committed beside their source in `cu/`: PTX, which the driver compiles for any supported chip,
//! and machine code for one kind of chip, which the driver loads directly.

use std::borrow::Cow;
use std::io::Read;

use crate::Error;

/// The compute capability of the chips for which machine code is embedded: H100 and H200.
pub(super) const MACHINE: (u32, u32) = (9, 0);

/// The compiled code of one source file in `cu/`, with the names of its kernels, which are loaded together.
#[derive(Debug, Clone, Copy)]
pub struct Code {
    /// Name of the CUDA source file in `cu/` whose compiled code this is, without extension.
    pub name: &'static str,
    /// The PTX of all kernels of the file, as UTF-8 text.
    pub ptx: Embedded,
    /// The machine code of the file's kernels for compute capability 9.0.
    pub cubin: Embedded,
    /// Names of the kernels that are loaded from the file.
    pub kernels: &'static [&'static str],
}

/// The content of a file, embedded in the program when it is compiled.
#[derive(Debug, Clone, Copy)]
pub enum Embedded {
    /// The bytes of the embedded file, uncompressed.
    Plain(&'static [u8]),
    /// The bytes of the embedded file, compressed to a zlib stream.
    Compressed(&'static [u8]),
}

impl Embedded {
    /// The bytes of the file. Fails with [`Error::BadCode`] if the embedded bytes are no zlib stream.
    pub fn bytes(&self) -> Result<Cow<'static, [u8]>, Error> {
        match self {
            Embedded::Plain(bytes) => Ok(Cow::Borrowed(bytes)),
            Embedded::Compressed(stream) => {
                let mut bytes = Vec::new();
                flate2::read::ZlibDecoder::new(*stream).read_to_end(&mut bytes).map_err(bad_code)?;
                Ok(Cow::Owned(bytes))
            }
        }
    }

    /// The text of the file. Fails with [`Error::BadCode`] if the bytes are no zlib stream, or the file is not UTF-8.
    pub fn text(&self) -> Result<Cow<'static, str>, Error> {
        match self.bytes()? {
            Cow::Borrowed(bytes) => Ok(Cow::Borrowed(std::str::from_utf8(bytes).map_err(bad_code)?)),
            Cow::Owned(bytes) => Ok(Cow::Owned(String::from_utf8(bytes).map_err(bad_code)?)),
        }
    }
}

fn bad_code(reason: impl std::fmt::Display) -> Error {
    Error::BadCode { reason: reason.to_string() }
}

/// Makes the `Code` of a file of `cu/`: its compiled code and the names of its kernels.
macro_rules! code {
    ($file:expr, $kernels:expr) => {
        $crate::cuda::code::Code {
            name: $file,
            ptx: $crate::cuda::code::Embedded::Compressed(include_bytes!(concat!(
                env!("OUT_DIR"),
                "/",
                $file,
                ".ptx.z"
            ))),
            cubin: $crate::cuda::code::Embedded::Compressed(include_bytes!(concat!(
                env!("OUT_DIR"),
                "/",
                $file,
                ".sm_90.cubin.z"
            ))),
            kernels: $kernels,
        }
    };
}
pub(super) use code;

impl Code {
    /// The PTX of a source file, reduced to the kernels that the program loads (the list of names). The driver would
    /// spend time to compile each of the other kernels.
    pub(super) fn ptx_without_others(&self) -> Result<Cow<'static, str>, Error> {
        fn entry(line: &str) -> Option<&str> {
            Some(line.strip_prefix(".visible .entry ")?.split_once('(')?.0)
        }
        let text = self.ptx.text()?;
        let listed = |kernel: &str| self.kernels.contains(&kernel);
        if text.lines().filter_map(entry).all(listed) {
            return Ok(text);
        }
        let mut within_other = false;
        let kept = text.split_inclusive('\n').filter(|line| {
            within_other |= entry(line).is_some_and(|kernel| !listed(kernel));
            let keep = !within_other;
            within_other &= line.trim_end() != "}";
            keep
        });
        Ok(Cow::Owned(kept.collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = ".version 8.0\n.func f(\n)\n{\n\tret;\n}\n.visible .entry first(\n)\n{\n\t{\n\t}\n\tret;\n}\n\
                        .shared .b8 s[4];\n.visible .entry second(\n)\n{\n\tret;\n}\n";

    #[test]
    fn only_kernels_that_are_looked_up_are_compiled() {
        let code =
            |kernels| Code { name: "", ptx: Embedded::Plain(TEXT.as_bytes()), cubin: Embedded::Plain(&[]), kernels };
        let second =
            ".version 8.0\n.func f(\n)\n{\n\tret;\n}\n.shared .b8 s[4];\n.visible .entry second(\n)\n{\n\tret;\n}\n";
        let first = TEXT.split_inclusive('\n').take(13).chain([".shared .b8 s[4];\n"]).collect::<String>();
        let kept = |kernels| code(kernels).ptx_without_others().expect("text");
        assert_eq!(kept(&["second"]), second);
        assert_eq!(kept(&["first"]), first);
        assert_eq!(kept(&["first", "second"]), TEXT);
    }

    #[test]
    fn what_is_no_stream_or_no_text_is_refused() {
        let is_bad = |embedded: Embedded| matches!(embedded.text(), Err(Error::BadCode { .. }));
        assert!(is_bad(Embedded::Compressed(b"no stream")) && is_bad(Embedded::Plain(b"\xff")));
        // A zlib stream that contains the single byte 0xff.
        let no_text = Embedded::Compressed(&[0x78, 0x9c, 0xfb, 0x0f, 0x00, 0x01, 0x00, 0x01, 0x00]);
        assert_eq!(no_text.bytes().ok().as_deref(), Some(&[0xff][..]));
        assert!(is_bad(no_text));
    }
}
