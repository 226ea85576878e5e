//! A resource whose fields can be hidden, and what is visible of all of them.

use std::{borrow::Cow, fmt::Write, sync::Arc};

use sha2::{Digest, Sha256};

/// Shown in every view: that there is a resource and since when, which its id tells too, and in which
/// version, of which its entity tag is made.
pub(super) const ALWAYS_SHOWN: [&str; 3] = ["id", "created_at", "version"];

/// A resource whose fields can be hidden.
#[derive(Debug)]
pub struct Resource {
    /// As views name it.
    pub name: &'static str,
    /// The name of its type, and so of its schema.
    pub schema: &'static str,
    /// The fields as JSON names them, in the order in which they are written.
    pub fields: &'static [&'static str],
    /// The parameters that tell of fields by another name than theirs: of these, or of those of another
    /// resource, as `resource.field`.
    pub told_by: &'static [(&'static str, &'static [&'static str])],
    /// Fields that a new one takes from another resource where they are not given.
    pub taken_from: &'static [(&'static str, &'static str)],
}

/// Some of the fields of a resource: the first has the lowest bit.
pub(super) type FieldSet = u64;

impl Resource {
    /// The field of this name alone; none if there is no such field.
    pub(super) fn field(&self, name: &str) -> Option<FieldSet> {
        let place = self.fields.iter().position(|field| *field == name)?;
        Some(1 << place)
    }

    pub(super) fn all(&self) -> FieldSet {
        (0..self.fields.len()).fold(0, |set, place| set | 1 << place)
    }

    pub(super) fn always_shown(&self) -> FieldSet {
        let always = ALWAYS_SHOWN.iter().filter_map(|name| self.field(name));
        always.fold(0, |set, field| set | field)
    }

    /// The names of some fields, in their order.
    pub(super) fn names(&self, set: FieldSet) -> impl Iterator<Item = &'static str> {
        let fields = self.fields.iter().enumerate();
        fields.filter_map(move |(place, name)| (set >> place & 1 == 1).then_some(*name))
    }
}

/// What a caller sees of all resources.
#[derive(Debug, Clone, Default)]
pub struct Visible(Option<Arc<[Narrowed]>>);

/// A resource of which something is hidden.
#[derive(Debug, Clone, Copy)]
struct Narrowed {
    resource: &'static Resource,
    shown: FieldSet,
}

impl Visible {
    pub const EVERYTHING: Self = Self(None);

    /// These fields alone, and what is always shown; of all other resources everything.
    pub(super) fn of(shown: impl IntoIterator<Item = (&'static Resource, FieldSet)>) -> Self {
        let narrowed: Vec<_> = shown
            .into_iter()
            .map(|(resource, shown)| Narrowed {
                resource,
                shown: (shown | resource.always_shown()) & resource.all(),
            })
            .filter(|narrowed| narrowed.shown != narrowed.resource.all())
            .collect();
        Self((!narrowed.is_empty()).then(|| narrowed.into()))
    }

    /// What is visible in both.
    #[must_use]
    pub(super) fn and(&self, other: &Self) -> Self {
        match (&self.0, &other.0) {
            (None, _) => other.clone(),
            (_, None) => self.clone(),
            (Some(_), Some(narrowed)) => {
                let both = narrowed.iter().map(|narrowed| {
                    let shown = narrowed.shown & self.shown(narrowed.resource);
                    (narrowed.resource, shown)
                });
                let alone = self
                    .narrowed()
                    .filter(|narrowed| !narrowed_of(other, narrowed.resource.schema).any(|_| true));
                let alone = alone.map(|narrowed| (narrowed.resource, narrowed.shown));
                Self::of(both.chain(alone))
            }
        }
    }

    fn narrowed(&self) -> impl Iterator<Item = &Narrowed> {
        self.0.iter().flat_map(|narrowed| narrowed.iter())
    }

    /// Whether nothing is hidden.
    #[must_use]
    pub fn is_everything(&self) -> bool {
        self.0.is_none()
    }

    /// What is visible of a resource.
    pub(super) fn shown(&self, resource: &Resource) -> FieldSet {
        narrowed_of(self, resource.schema)
            .next()
            .map_or_else(|| resource.all(), |narrowed| narrowed.shown)
    }

    /// What is visible of the type of this name, if something of it is hidden.
    #[inline]
    pub(super) fn narrowed_type(&self, name: &str) -> Option<(&'static Resource, FieldSet)> {
        let narrowed = narrowed_of(self, name).next()?;
        Some((narrowed.resource, narrowed.shown))
    }

    #[must_use]
    pub fn shows(&self, resource: &Resource, field: &str) -> bool {
        let field = resource.field(field);
        field.is_some_and(|field| self.shown(resource) & field != 0)
    }

    /// The fields of a list that are visible.
    pub(in crate::http) fn of_list<'f>(
        &self,
        resource: Option<&'static Resource>,
        fields: &'f [&'static str],
    ) -> Vec<&'f &'static str> {
        let shown = |field: &&&str| resource.is_none_or(|resource| self.shows(resource, field));
        fields.iter().filter(shown).collect()
    }

    /// The columns of a list, with a `placeholder` of the same type in the place of each that is hidden
    /// and wide: what is not shown need not be read.
    #[must_use]
    pub fn columns(
        &self,
        resource: &Resource,
        columns: &'static str,
        wide: &[(&str, &str, &str)],
    ) -> Cow<'static, str> {
        let mut read = Cow::Borrowed(columns);
        for (field, column, placeholder) in wide {
            if !self.shows(resource, field) {
                read = read.replace(column, placeholder).into();
            }
        }
        read
    }

    /// What stands behind the version in an entity tag: the same for the same visible fields, empty if
    /// nothing is hidden.
    #[must_use]
    pub fn tag(&self) -> String {
        let mut parts: Vec<_> = self.narrowed().collect();
        if parts.is_empty() {
            return String::new();
        }
        parts.sort_by_key(|narrowed| narrowed.resource.name);
        let mut hash = Sha256::new();
        for Narrowed { resource, shown } in parts {
            hash.update(resource.name);
            for field in resource.names(*shown) {
                hash.update([b' ']);
                hash.update(field);
            }
            hash.update([b'\n']);
        }
        let mut tag = String::from("-");
        for byte in &hash.finalize()[..4] {
            // Writing to a string does not fail.
            write!(tag, "{byte:02x}").ok();
        }
        tag
    }
}

#[inline]
fn narrowed_of<'v>(visible: &'v Visible, schema: &str) -> impl Iterator<Item = &'v Narrowed> {
    visible
        .narrowed()
        .filter(move |narrowed| narrowed.resource.schema == schema)
}
