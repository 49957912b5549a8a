//! Macros that declare plain data together with its encoding, so that the two cannot drift apart. Own the
//! order of fields and the tags of variants: a changed declaration is a changed format.

/// Declares a struct whose encoding is its fields in order. Derives `Clone, Debug, PartialEq, Eq`.
#[macro_export]
macro_rules! wire_struct {
    ($(
        $(#[$meta:meta])*
        $vis:vis struct $name:ident {
            $( $(#[$field_meta:meta])* $field_vis:vis $field:ident : $type:ty ),* $(,)?
        }
    )*) => {$(
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, Eq)]
        $vis struct $name {
            $( $(#[$field_meta])* $field_vis $field: $type, )*
        }

        impl $crate::wire::Wire for $name {
            fn put(&self, out: &mut Vec<u8>) {
                $( $crate::wire::Wire::put(&self.$field, out); )*
            }

            fn get(reader: &mut $crate::wire::Reader<'_>) -> Result<Self, $crate::wire::DecodeError> {
                Ok($name { $( $field: <$type as $crate::wire::Wire>::get(reader)?, )* })
            }
        }
    )*};
}

/// Declares an enum whose encoding is the variant's tag (`u8`) and then its fields in order. Derives `Clone,
/// Debug, PartialEq, Eq`. A variant is written `3 => Name`, `3 => Name { field: Type }` or
/// `3 => Name(value: Type)`.
#[macro_export]
macro_rules! wire_enum {
    ($(
        $(#[$meta:meta])*
        $vis:vis enum $name:ident {
            $(
                $(#[$variant_meta:meta])*
                $tag:literal => $variant:ident
                $( { $( $(#[$field_meta:meta])* $field:ident : $type:ty ),* $(,)? } )?
                $( ( $inner:ident : $inner_type:ty ) )?
            ),* $(,)?
        }
    )*) => {$(
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, Eq)]
        $vis enum $name {
            $(
                $(#[$variant_meta])*
                $variant $( { $( $(#[$field_meta])* $field: $type, )* } )? $( ($inner_type) )?,
            )*
        }

        impl $crate::wire::Wire for $name {
            fn put(&self, out: &mut Vec<u8>) {
                match self {
                    $(
                        $name::$variant $( { $( $field, )* } )? $( ($inner) )? => {
                            out.push($tag);
                            $( $( $crate::wire::Wire::put($field, out); )* )?
                            $( $crate::wire::Wire::put($inner, out); )?
                        }
                    )*
                }
            }

            fn get(reader: &mut $crate::wire::Reader<'_>) -> Result<Self, $crate::wire::DecodeError> {
                Ok(match reader.u8()? {
                    $(
                        $tag => $name::$variant
                            $( { $( $field: <$type as $crate::wire::Wire>::get(reader)?, )* } )?
                            $( (<$inner_type as $crate::wire::Wire>::get(reader)?) )?,
                    )*
                    other => {
                        return Err(reader.error(format!(
                            concat!("unknown tag {} of ", stringify!($name)), other
                        )))
                    }
                })
            }
        }
    )*};
}
