//! What a fitted object is saved in: the safetensors layout, with our name, kind and version in its header.
//!
//! Eight bytes with the length of a JSON header, the header, then the arrays, little-endian, one after the other.
//! Nothing in it can be executed, any safetensors reader opens it, and whatever does not hold exactly what is expected
//! is refused before anything of its claimed size is allocated.

use super::header::doubtful_name;
use crate::error::{Error, Result};
use crate::memory;
use safetensors::{Dtype, SafeTensors, tensor::TensorView};
use std::fmt::Write;

/// The version of the layout. The number before the point changes when an older reader would misread the file.
const FORMAT_VERSION: &str = "1.0";
/// Longest header that is looked at: ours have some 400 bytes, and a parser given megabytes of JSON builds a tree of
/// them.
const LONGEST_HEADER: u64 = 16_384;
/// Bytes of the header's length.
const LENGTH_BYTES: usize = 8;
/// The header is padded so that the arrays start on a multiple of this.
const ALIGNMENT: usize = 8;

/// The numbers of an array.
#[derive(Clone, Copy, Debug)]
pub(super) enum Numbers<'a> {
    /// Single precision.
    F32(&'a [f32]),
    /// Double precision.
    F64(&'a [f64]),
    /// Small integers.
    I32(&'a [i32]),
    /// Counts.
    U64(&'a [u64]),
}

impl Numbers<'_> {
    fn dtype(self) -> &'static str {
        match self {
            Self::F32(_) => "F32",
            Self::F64(_) => "F64",
            Self::I32(_) => "I32",
            Self::U64(_) => "U64",
        }
    }

    fn append(self, out: &mut Vec<u8>) {
        match self {
            Self::F32(x) => x.iter().for_each(|x| out.extend(x.to_le_bytes())),
            Self::F64(x) => x.iter().for_each(|x| out.extend(x.to_le_bytes())),
            Self::I32(x) => x.iter().for_each(|x| out.extend(x.to_le_bytes())),
            Self::U64(x) => x.iter().for_each(|x| out.extend(x.to_le_bytes())),
        }
    }

    fn bytes(self) -> usize {
        match self {
            Self::F32(x) => size_of_val(x),
            Self::F64(x) => size_of_val(x),
            Self::I32(x) => size_of_val(x),
            Self::U64(x) => size_of_val(x),
        }
    }
}

/// The file of a `class` with these named arrays, which hold as many numbers as their shapes say. The same arrays give
/// the same bytes: the header is written here in a fixed order, the crate's writer orders it by hash.
#[must_use]
pub(super) fn write(class: &str, arrays: &[(&str, &[usize], Numbers)]) -> Vec<u8> {
    let version = env!("CARGO_PKG_VERSION");
    let mut header = format!(
        r#"{{"__metadata__":{{"format":"prinax","format_version":"{FORMAT_VERSION}","class":"{class}","version":"{version}"}}"#
    );
    let mut end = 0;
    for (name, shape, numbers) in arrays {
        let start = end;
        end += numbers.bytes();
        let dtype = numbers.dtype();
        // Writing to a string cannot fail.
        let _ = write!(header, r#","{name}":{{"dtype":"{dtype}","shape":{shape:?},"data_offsets":[{start},{end}]}}"#);
    }
    header.push('}');
    header.push_str(&" ".repeat(header.len().next_multiple_of(ALIGNMENT) - header.len()));
    let mut out = Vec::with_capacity(LENGTH_BYTES + header.len() + end);
    out.extend((header.len() as u64).to_le_bytes());
    out.extend(header.as_bytes());
    for (_, _, numbers) in arrays {
        numbers.append(&mut out);
    }
    out
}

/// A file whose header has been checked.
#[derive(Debug)]
pub(super) struct Container<'a> {
    class: &'static str,
    arrays: SafeTensors<'a>,
}

impl<'a> Container<'a> {
    /// The container of a `class`, nothing else: in this layout no array but those of these `names`.
    ///
    /// # Errors
    /// [`Error::Value`] saying what is wrong: cut short, damaged, of another class, of a newer layout.
    pub(super) fn open(data: &'a [u8], class: &'static str, names: &[&str]) -> Result<Self> {
        let refuse = |found: String| Error::value("the data", found, format!("a saved prinax {class}"));
        let Some((length, _)) = data.split_first_chunk::<LENGTH_BYTES>() else {
            return Err(refuse(format!("only {} bytes", data.len())));
        };
        let length = u64::from_le_bytes(*length);
        if length > LONGEST_HEADER {
            return Err(refuse(format!(
                "a header of {length} bytes, longer than the {LONGEST_HEADER} any of them has"
            )));
        }
        let damaged = |error| refuse(format!("{} bytes that are damaged or cut short ({error})", data.len()));
        let (length, header) = SafeTensors::read_metadata(data).map_err(damaged)?;
        let text = data.get(LENGTH_BYTES..LENGTH_BYTES + length).and_then(|bytes| str::from_utf8(bytes).ok());
        if let Some(name) = text.and_then(doubtful_name) {
            return Err(refuse(format!("a header with the name '{}' twice or in disguise", shown(name))));
        }
        let entry = |key: &str| header.metadata().as_ref().and_then(|entries| entries.get(key)).map(String::as_str);
        if entry("format") != Some("prinax") {
            return Err(refuse("a safetensors file that prinax did not write".into()));
        }
        let found = entry("format_version").unwrap_or("");
        match major(found) {
            Some(found) if Some(found) == major(FORMAT_VERSION) => {}
            Some(newer) if Some(newer) > major(FORMAT_VERSION) => {
                let writer = shown(entry("version").unwrap_or("of an unknown version"));
                let found = format!("layout {}, written by prinax {writer}: upgrade prinax", shown(found));
                return Err(Error::value("the data", found, format!("of layout {FORMAT_VERSION}")));
            }
            _ => return Err(refuse(format!("a layout named '{}'", shown(found)))),
        }
        match entry("class") {
            Some(found) if found == class => {}
            found => return Err(refuse(format!("a saved '{}'", shown(found.unwrap_or(""))))),
        }
        let arrays = SafeTensors::deserialize(data).map_err(damaged)?;
        // A damaged name must not pass for an array that was never there; a newer layout may have added some.
        let unknown = arrays.names().into_iter().filter(|name| !names.contains(name)).min();
        match unknown.filter(|_| found == FORMAT_VERSION) {
            Some(unknown) => Err(refuse(format!("an array named '{}'", shown(unknown)))),
            None => Ok(Self { class, arrays }),
        }
    }

    /// Whether there is an array of that name.
    #[must_use]
    pub(super) fn has(&self, name: &str) -> bool {
        self.arrays.tensor(name).is_ok()
    }

    /// Whether the array is in single precision.
    #[must_use]
    pub(super) fn is_single(&self, name: &str) -> bool {
        self.arrays.tensor(name).is_ok_and(|array| array.dtype() == Dtype::F32)
    }

    /// The shape of an array of `N` dimensions.
    ///
    /// # Errors
    /// [`Error::Value`] when it is missing or has another number of dimensions.
    pub(super) fn shape<const N: usize>(&self, name: &str) -> Result<[usize; N]> {
        let array = self.array(name)?;
        array
            .shape()
            .try_into()
            .map_err(|_| self.refuse(format!("an array '{name}' of {} dimensions instead of {N}", array.shape().len())))
    }

    /// The numbers of an array of exactly this shape.
    ///
    /// # Errors
    /// [`Error::Value`] when it is missing, of another dtype or of another shape, [`Error::Memory`].
    pub(super) fn read<T: Stored>(&self, name: &str, shape: &[usize]) -> Result<Vec<T>> {
        let array = self.array(name)?;
        if array.dtype() != T::DTYPE {
            return Err(self.refuse(format!(
                "an array '{name}' of dtype {:?} instead of {:?}",
                array.dtype(),
                T::DTYPE
            )));
        }
        if array.shape() != shape {
            return Err(self.refuse(format!("an array '{name}' of shape {:?} instead of {shape:?}", array.shape())));
        }
        memory::check_bytes(array.data().len() as u128, "an array of the file")?;
        Ok(array.data().chunks_exact(size_of::<T>()).map(T::from_bytes).collect())
    }

    /// The refusal of a file in which `found` was found.
    #[must_use]
    pub(super) fn refuse(&self, found: String) -> Error {
        Error::value("the data", found, format!("a saved prinax {}", self.class))
    }

    fn array(&self, name: &str) -> Result<TensorView<'a>> {
        self.arrays.tensor(name).map_err(|_| self.refuse(format!("no array '{name}'")))
    }
}

/// A type of number that arrays hold.
pub(super) trait Stored: Copy {
    /// Its name in the header.
    const DTYPE: Dtype;
    /// The number in exactly as many bytes as it has.
    fn from_bytes(bytes: &[u8]) -> Self;
}

macro_rules! stored {
    ($($t:ty => $dtype:ident),*) => {$(
        impl Stored for $t {
            const DTYPE: Dtype = Dtype::$dtype;

            fn from_bytes(bytes: &[u8]) -> Self {
                bytes.try_into().map_or(Self::default(), Self::from_le_bytes)
            }
        }
    )*};
}
stored!(f32 => F32, f64 => F64, i32 => I32, u64 => U64);

/// The number before the point.
fn major(version: &str) -> Option<u64> {
    version.split('.').next()?.parse().ok()
}

/// The beginning of a text from a file, for a sentence.
fn shown(text: &str) -> String {
    const MOST: usize = 40;
    text.chars().filter(|c| !c.is_control()).take(MOST).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: [&str; 2] = ["a", "n"];

    fn file() -> Vec<u8> {
        write("Thing", &[("a", &[2, 1], Numbers::F64(&[1.5, -2.0])), ("n", &[1], Numbers::U64(&[7]))])
    }

    fn sentence(data: &[u8], class: &'static str) -> String {
        Container::open(data, class, &NAMES).unwrap_err().to_string()
    }

    #[test]
    fn arrays_come_back() {
        let file = file();
        assert_eq!(file, self::file());
        let container = Container::open(&file, "Thing", &NAMES).unwrap();
        assert_eq!(container.shape::<2>("a").unwrap(), [2, 1]);
        assert_eq!(container.read::<f64>("a", &[2, 1]).unwrap(), [1.5, -2.0]);
        assert_eq!(container.read::<u64>("n", &[1]).unwrap(), [7]);
    }

    #[test]
    fn what_is_not_asked_for_is_refused() {
        let file = file();
        let container = Container::open(&file, "Thing", &NAMES).unwrap();
        assert!(container.read::<f64>("b", &[1]).unwrap_err().to_string().contains("no array 'b'"));
        assert!(container.read::<u64>("a", &[2, 1]).unwrap_err().to_string().contains("dtype F64 instead of U64"));
        assert!(container.read::<f64>("a", &[2]).unwrap_err().to_string().contains("shape [2, 1] instead of [2]"));
        assert!(container.shape::<1>("a").unwrap_err().to_string().contains("2 dimensions"));
    }

    #[test]
    fn damage_has_a_sentence() {
        let file = file();
        for cut in 0..file.len() {
            assert!(Container::open(&file[..cut], "Thing", &NAMES).is_err(), "{cut}");
        }
        let longer = [file.as_slice(), &[0]].concat();
        assert!(sentence(&longer, "Thing").contains("damaged or cut short"));
        assert!(sentence(&file, "Other").contains("a saved 'Thing'"));
        let mut huge = file.clone();
        huge[..8].copy_from_slice(&u64::MAX.to_le_bytes());
        assert!(sentence(&huge, "Thing").contains("header of 18446744073709551615 bytes"));
        let version: &[u8] = br#""format_version":"1.0""#;
        let at = file.windows(version.len()).position(|bytes| bytes == version).unwrap();
        let mut newer = file.clone();
        newer[at + version.len() - 4] = b'2';
        assert!(sentence(&newer, "Thing").contains("upgrade prinax"));
        let unknown = Container::open(&file, "Thing", &["a", "o"]).unwrap_err().to_string();
        assert!(unknown.contains("an array named 'n'"), "{unknown}");
    }
}
