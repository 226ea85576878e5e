//! The one place where what is hidden is left out: around any serializer, so that single resources,
//! lists, compositions and streams are shaped by the same code at every depth.

#[cfg(test)]
mod tests;

use std::io;

use serde::{
    Serialize, Serializer,
    ser::{
        SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant, SerializeTuple,
        SerializeTupleStruct, SerializeTupleVariant,
    },
};
use serde_json::Value;

use super::resource::{FieldSet, Resource, Visible};

/// Writes the JSON of `value`, as far as it is visible.
///
/// # Errors
/// If it has no JSON form, or cannot be written.
pub fn write(
    out: impl io::Write,
    value: &(impl Serialize + ?Sized),
    visible: &Visible,
) -> serde_json::Result<()> {
    if visible.is_everything() {
        return serde_json::to_writer(out, value);
    }
    let mut serializer = serde_json::Serializer::new(out);
    value.serialize(shaped(&mut serializer, visible))
}

/// The same as a value.
///
/// # Errors
/// If it has no JSON form.
pub fn to_value(value: &(impl Serialize + ?Sized), visible: &Visible) -> serde_json::Result<Value> {
    value.serialize(shaped(serde_json::value::Serializer, visible))
}

/// A serializer, or a value, with what is visible of what goes through it.
struct Shaped<'v, I> {
    inner: I,
    visible: &'v Visible,
}

#[inline]
fn shaped<I>(inner: I, visible: &Visible) -> Shaped<'_, I> {
    Shaped { inner, visible }
}

impl<T: Serialize + ?Sized> Serialize for Shaped<'_, &T> {
    #[inline]
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.inner.serialize(shaped(serializer, self.visible))
    }
}

/// A struct that is being written.
struct ShapedStruct<'v, I> {
    inner: I,
    visible: &'v Visible,
    /// The resource that it is, if something of that is hidden, and what is shown of it.
    narrowed: Option<(&'static Resource, FieldSet)>,
    /// Of the next field, if they come in the order in which the resource names them.
    place: usize,
}

/// Hands what has nothing in it to the serializer as it is.
macro_rules! plainly {
    ($($method:ident($type:ty);)+) => {
        $(
            #[inline]
            fn $method(self, value: $type) -> Result<S::Ok, S::Error> {
                self.inner.$method(value)
            }
        )+
    };
}

impl<'v, S: Serializer> Serializer for Shaped<'v, S> {
    type Ok = S::Ok;
    type Error = S::Error;
    type SerializeSeq = Shaped<'v, S::SerializeSeq>;
    type SerializeTuple = Shaped<'v, S::SerializeTuple>;
    type SerializeTupleStruct = Shaped<'v, S::SerializeTupleStruct>;
    type SerializeTupleVariant = Shaped<'v, S::SerializeTupleVariant>;
    type SerializeMap = Shaped<'v, S::SerializeMap>;
    type SerializeStruct = ShapedStruct<'v, S::SerializeStruct>;
    type SerializeStructVariant = Shaped<'v, S::SerializeStructVariant>;

    plainly! {
        serialize_bool(bool);
        serialize_i8(i8);
        serialize_i16(i16);
        serialize_i32(i32);
        serialize_i64(i64);
        serialize_i128(i128);
        serialize_u8(u8);
        serialize_u16(u16);
        serialize_u32(u32);
        serialize_u64(u64);
        serialize_u128(u128);
        serialize_f32(f32);
        serialize_f64(f64);
        serialize_char(char);
        serialize_str(&str);
        serialize_bytes(&[u8]);
        serialize_unit_struct(&'static str);
    }

    #[inline]
    fn serialize_none(self) -> Result<S::Ok, S::Error> {
        self.inner.serialize_none()
    }

    #[inline]
    fn serialize_unit(self) -> Result<S::Ok, S::Error> {
        self.inner.serialize_unit()
    }

    #[inline]
    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<S::Ok, S::Error> {
        let Self { inner, visible } = self;
        inner.serialize_some(&shaped(value, visible))
    }

    #[inline]
    fn serialize_unit_variant(
        self,
        name: &'static str,
        index: u32,
        variant: &'static str,
    ) -> Result<S::Ok, S::Error> {
        self.inner.serialize_unit_variant(name, index, variant)
    }

    #[inline]
    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        value: &T,
    ) -> Result<S::Ok, S::Error> {
        let Self { inner, visible } = self;
        let value = shaped(value, visible);
        inner.serialize_newtype_struct(name, &value)
    }

    #[inline]
    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        index: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<S::Ok, S::Error> {
        let Self { inner, visible } = self;
        let value = shaped(value, visible);
        inner.serialize_newtype_variant(name, index, variant, &value)
    }

    #[inline]
    fn serialize_seq(self, len: Option<usize>) -> Result<Self::SerializeSeq, S::Error> {
        let inner = self.inner.serialize_seq(len)?;
        Ok(shaped(inner, self.visible))
    }

    #[inline]
    fn serialize_tuple(self, len: usize) -> Result<Self::SerializeTuple, S::Error> {
        let inner = self.inner.serialize_tuple(len)?;
        Ok(shaped(inner, self.visible))
    }

    #[inline]
    fn serialize_tuple_struct(
        self,
        name: &'static str,
        len: usize,
    ) -> Result<Self::SerializeTupleStruct, S::Error> {
        let inner = self.inner.serialize_tuple_struct(name, len)?;
        Ok(shaped(inner, self.visible))
    }

    #[inline]
    fn serialize_tuple_variant(
        self,
        name: &'static str,
        index: u32,
        variant: &'static str,
        len: usize,
    ) -> Result<Self::SerializeTupleVariant, S::Error> {
        let inner = self
            .inner
            .serialize_tuple_variant(name, index, variant, len)?;
        Ok(shaped(inner, self.visible))
    }

    #[inline]
    fn serialize_map(self, len: Option<usize>) -> Result<Self::SerializeMap, S::Error> {
        let inner = self.inner.serialize_map(len)?;
        Ok(shaped(inner, self.visible))
    }

    #[inline]
    fn serialize_struct(
        self,
        name: &'static str,
        len: usize,
    ) -> Result<Self::SerializeStruct, S::Error> {
        let narrowed = self.visible.narrowed_type(name);
        Ok(ShapedStruct {
            inner: self.inner.serialize_struct(name, len)?,
            visible: self.visible,
            narrowed,
            place: 0,
        })
    }

    #[inline]
    fn serialize_struct_variant(
        self,
        name: &'static str,
        index: u32,
        variant: &'static str,
        len: usize,
    ) -> Result<Self::SerializeStructVariant, S::Error> {
        let inner = self
            .inner
            .serialize_struct_variant(name, index, variant, len)?;
        Ok(shaped(inner, self.visible))
    }

    #[inline]
    fn is_human_readable(&self) -> bool {
        self.inner.is_human_readable()
    }
}

impl<I> ShapedStruct<'_, I> {
    /// Whether the field that comes now is shown. One that the resource does not name is not.
    #[inline]
    fn shows(&mut self, key: &'static str) -> bool {
        let Some((resource, shown)) = self.narrowed else {
            return true;
        };
        let place = self.place;
        self.place += 1;
        // Where it is expected it need not be looked for.
        if resource
            .fields
            .get(place)
            .is_some_and(|field| *field == key)
        {
            return shown >> place & 1 == 1;
        }
        resource.field(key).is_some_and(|field| shown & field != 0)
    }
}

impl<I: SerializeStruct> SerializeStruct for ShapedStruct<'_, I> {
    type Ok = I::Ok;
    type Error = I::Error;

    #[inline]
    fn serialize_field<T: Serialize + ?Sized>(
        &mut self,
        key: &'static str,
        value: &T,
    ) -> Result<(), I::Error> {
        if !self.shows(key) {
            return self.inner.skip_field(key);
        }
        let visible = self.visible;
        let value = shaped(value, visible);
        self.inner.serialize_field(key, &value)
    }

    #[inline]
    fn skip_field(&mut self, key: &'static str) -> Result<(), I::Error> {
        self.shows(key);
        self.inner.skip_field(key)
    }

    #[inline]
    fn end(self) -> Result<I::Ok, I::Error> {
        self.inner.end()
    }
}

/// Writes the parts of something, each as far as it is visible.
macro_rules! each_part {
    ($($compound:ident::$method:ident;)+) => {
        $(
            impl<I: $compound> $compound for Shaped<'_, I> {
                type Ok = I::Ok;
                type Error = I::Error;

                #[inline]
                fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), I::Error> {
                    let visible = self.visible;
                    self.inner.$method(&shaped(value, visible))
                }

                #[inline]
                fn end(self) -> Result<I::Ok, I::Error> {
                    self.inner.end()
                }
            }
        )+
    };
}

each_part! {
    SerializeSeq::serialize_element;
    SerializeTuple::serialize_element;
    SerializeTupleStruct::serialize_field;
    SerializeTupleVariant::serialize_field;
}

impl<I: SerializeMap> SerializeMap for Shaped<'_, I> {
    type Ok = I::Ok;
    type Error = I::Error;

    #[inline]
    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), I::Error> {
        self.inner.serialize_key(key)
    }

    #[inline]
    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), I::Error> {
        let visible = self.visible;
        self.inner.serialize_value(&shaped(value, visible))
    }

    #[inline]
    fn end(self) -> Result<I::Ok, I::Error> {
        self.inner.end()
    }
}

impl<I: SerializeStructVariant> SerializeStructVariant for Shaped<'_, I> {
    type Ok = I::Ok;
    type Error = I::Error;

    #[inline]
    fn serialize_field<T: Serialize + ?Sized>(
        &mut self,
        key: &'static str,
        value: &T,
    ) -> Result<(), I::Error> {
        let visible = self.visible;
        self.inner.serialize_field(key, &shaped(value, visible))
    }

    #[inline]
    fn end(self) -> Result<I::Ok, I::Error> {
        self.inner.end()
    }
}
