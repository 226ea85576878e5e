//! The views that are configured, and the platforms.

use std::{collections::BTreeMap, fmt, path::Path, sync::Arc};

use serde::{Deserialize, Deserializer, de};

use super::resource::{FieldSet, Resource, Visible};

/// The view that hides nothing, which is always there.
pub const EVERYTHING: &str = "everything";

/// What is configured of views.
#[derive(Debug, Clone, Default)]
pub struct Views(Arc<Configured>);

#[derive(Debug, Default)]
struct Configured {
    views: BTreeMap<String, Visible>,
    /// The view of each platform.
    platforms: BTreeMap<String, Visible>,
    /// The fields of each view, as they are told.
    told: BTreeMap<String, Vec<(&'static str, String)>>,
}

/// What is wrong with a file of views.
#[derive(Debug, thiserror::Error)]
#[error("the views of {file} cannot be used: {fault}")]
pub struct ViewsError {
    file: String,
    fault: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    platforms: BTreeMap<String, String>,
    #[serde(default)]
    views: BTreeMap<String, BTreeMap<String, Fields>>,
}

/// The fields of a resource in a view.
#[derive(Debug)]
enum Fields {
    All,
    Listed(Vec<String>),
}

impl<'de> Deserialize<'de> for Fields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;

        impl<'de> de::Visitor<'de> for Visitor {
            type Value = Fields;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of fields, or \"*\"")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Fields, E> {
                match text {
                    "*" => Ok(Fields::All),
                    other => Err(E::invalid_value(de::Unexpected::Str(other), &self)),
                }
            }

            fn visit_seq<A: de::SeqAccess<'de>>(self, names: A) -> Result<Fields, A::Error> {
                let names = Vec::deserialize(de::value::SeqAccessDeserializer::new(names))?;
                Ok(Fields::Listed(names))
            }
        }

        deserializer.deserialize_any(Visitor)
    }
}

impl Views {
    /// Reads the views of a file, whose `resources` must be named by each of them.
    ///
    /// # Errors
    /// [`ViewsError`], which names the file, the view, the resource, and what is nearest to a name that
    /// is not known.
    pub fn load(path: &Path, resources: &[&'static Resource]) -> Result<Self, ViewsError> {
        let file = path.display().to_string();
        let text = std::fs::read_to_string(path).map_err(|error| error.to_string());
        text.and_then(|text| Self::parse(&text, resources))
            .map_err(|fault| ViewsError { file, fault })
    }

    /// Reads views from the text of a file.
    ///
    /// # Errors
    /// What is wrong, in one line.
    pub fn parse(text: &str, resources: &[&'static Resource]) -> Result<Self, String> {
        let file: File = toml::from_str(text).map_err(|error| {
            let line = error.span().map_or(1, |span| {
                text[..span.start.min(text.len())].matches('\n').count() + 1
            });
            format!("line {line}: {}", error.message().replace('\n', " "))
        })?;
        let mut configured = Configured::default();
        for (view, named) in file.views {
            check_name("view", &view)?;
            if view == EVERYTHING {
                return Err(format!("views.{view} is there already, and hides nothing"));
            }
            let shown = shown(&view, &named, resources)?;
            let told = shown.iter().map(|(resource, shown)| {
                let shown = shown | resource.always_shown();
                let names: Vec<_> = resource
                    .names(shown)
                    .map(|name| format!("`{name}`"))
                    .collect();
                (resource.name, names.join(", "))
            });
            configured.told.insert(view.clone(), told.collect());
            configured.views.insert(view, Visible::of(shown));
        }
        configured
            .views
            .insert(EVERYTHING.to_owned(), Visible::EVERYTHING);
        for (platform, view) in file.platforms {
            check_name("platform", &platform)?;
            let Some(visible) = configured.views.get(&view) else {
                let nearest = nearest(&view, configured.views.keys().map(String::as_str));
                return Err(format!(
                    "platforms.{platform}: there is no view {view:?}{nearest}"
                ));
            };
            configured.platforms.insert(platform, visible.clone());
        }
        Ok(Self(configured.into()))
    }

    /// What a view shows; none if there is no such view.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Visible> {
        match self.0.views.get(name) {
            None if name == EVERYTHING => Some(&Visible::EVERYTHING),
            found => found,
        }
    }

    /// What is wrong with the name of a view that is not configured.
    #[must_use]
    pub fn unknown(&self, name: &str) -> String {
        let names = self.0.views.keys().map(String::as_str);
        format!("There is no view of this name{}.", nearest(name, names))
    }

    pub(super) fn of_platform(&self, name: &str) -> Option<&Visible> {
        self.0.platforms.get(name)
    }

    pub(super) fn platforms(&self) -> impl Iterator<Item = &str> {
        self.0.platforms.keys().map(String::as_str)
    }

    /// The name of each view, and of each resource in it the fields, as text.
    pub(super) fn told(&self) -> impl Iterator<Item = (&str, &[(&'static str, String)])> {
        let told = self.0.told.iter();
        told.map(|(view, resources)| (view.as_str(), resources.as_slice()))
    }
}

/// What a view shows of each resource.
fn shown(
    view: &str,
    named: &BTreeMap<String, Fields>,
    resources: &[&'static Resource],
) -> Result<Vec<(&'static Resource, FieldSet)>, String> {
    let known = || resources.iter().map(|resource| resource.name);
    if let Some(unknown) = named
        .keys()
        .find(|name| known().all(|known| known != *name))
    {
        let nearest = nearest(unknown, known());
        return Err(format!(
            "views.{view}: there is no resource {unknown:?}{nearest}"
        ));
    }
    let mut shown = Vec::new();
    for resource in resources {
        let name = resource.name;
        let set = match named.get(name) {
            None => {
                return Err(format!(
                    "views.{view} does not name {name:?}: give a list of its fields, or \"*\""
                ));
            }
            Some(Fields::All) => resource.all(),
            Some(Fields::Listed(fields)) => {
                let mut set = 0;
                for field in fields {
                    set |= resource.field(field).ok_or_else(|| {
                        let nearest = nearest(field, resource.fields.iter().copied());
                        format!("views.{view}.{name}: there is no field {field:?}{nearest}")
                    })?;
                }
                set
            }
        };
        shown.push((*resource, set));
    }
    Ok(shown)
}

/// Names stand in headers and in the database.
fn check_name(kind: &str, name: &str) -> Result<(), String> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    if (1..=100).contains(&name.len()) && name.bytes().all(plain) {
        return Ok(());
    }
    Err(format!(
        "{name:?} cannot be the name of a {kind}: take up to 100 letters, digits, and - _ ."
    ))
}

/// The name that was probably meant.
pub(super) fn nearest<'n>(name: &str, known: impl Iterator<Item = &'n str>) -> String {
    let by_distance = known.min_by_key(|known| strsim::damerau_levenshtein(known, name));
    by_distance.map_or_else(String::new, |known| format!("; the nearest is `{known}`"))
}
