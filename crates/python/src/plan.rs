//! Plans of registrations from the data that Python gives: a recipe with changes, or a list of stages.

use antsreg_register::linear::{Cost, Start};
use antsreg_register::syn::{Channel, Metric};
use antsreg_register::{Options, Preset, Recipe, Stage};
use pyo3::prelude::*;
use serde_json::Value;

use crate::error::{Class, Failure};

/// A registration before its images are known.
#[pyclass(frozen, module = "antsreg_gpu._native")]
#[derive(Debug, Clone)]
pub struct Plan(Kind);

#[derive(Debug, Clone)]
enum Kind {
    /// A preset with changes.
    Recipe(Box<Recipe>),
    /// Stages that are used unchanged.
    Stages(Vec<Stage>),
}

#[pymethods]
impl Plan {
    /// A recipe for images with `further` further channels. `json` names a preset and the values that differ from it.
    /// The `metric` of the deformable stage applies to all channels.
    #[staticmethod]
    fn recipe(json: &str, further: usize) -> Result<Plan, Failure> {
        let mut given: Value = read(json)?;
        let preset = match given.get("preset") {
            Some(preset) => read(&preset.to_string())?,
            None => Preset::default(),
        };
        let mut recipe = Recipe::new(preset);
        if let Some(cost) = given.pointer("/linear/cost") {
            let cost: Cost = read(&cost.to_string())?;
            recipe.linear = recipe.linear.with_cost(cost);
        }
        let metric = given.get_mut("syn").and_then(Value::as_object_mut).and_then(|syn| syn.remove("metric"));
        if let Some(metric) = metric {
            let metric: Metric = read(&metric.to_string())?;
            recipe.syn.channels.iter_mut().for_each(|channel| channel.metric = metric);
        }
        let metric = recipe.syn.channels.first().map_or_else(Metric::default, |channel| channel.metric);
        recipe.syn.channels.extend((0..further).map(|_| Channel { metric, weight: 1.0 }));
        let mut value = serde_json::to_value(&recipe).map_err(unreadable)?;
        merge(&mut value, given);
        serde_json::from_value(value).map(|recipe| Plan(Kind::Recipe(Box::new(recipe)))).map_err(unreadable)
    }

    /// A list of stages in JSON.
    #[staticmethod]
    fn stages(json: &str) -> Result<Plan, Failure> {
        Ok(Plan(Kind::Stages(read(json)?)))
    }

    /// The default start of the registration.
    #[getter]
    fn usual_start(&self) -> &'static str {
        let start = match &self.0 {
            Kind::Recipe(recipe) => recipe.model.usual_start(),
            Kind::Stages(_) => Options::default().start,
        };
        match start {
            Start::Headers => "headers",
            Start::CentreOfMass | Start::Transform(_) => "centre-of-mass",
        }
    }
}

impl Plan {
    /// The options of the registration to a fixed grid of this shape, from this start.
    ///
    /// # Errors
    /// Degrees of freedom or levels that do not suit the grid.
    pub fn options(&self, shape: [usize; 3], start: Start) -> Result<Options, Failure> {
        Ok(match &self.0 {
            Kind::Recipe(recipe) => Recipe { start, ..(**recipe).clone() }.options(shape)?,
            Kind::Stages(stages) => Options { start, stages: stages.clone(), ..Options::default() },
        })
    }
}

pub fn read<T: serde::de::DeserializeOwned>(json: &str) -> Result<T, Failure> {
    serde_json::from_str(json).map_err(unreadable)
}

/// The failure for data that cannot be read. The position in the JSON is left out, because it has no meaning for a
/// Python dictionary.
pub fn unreadable(error: serde_json::Error) -> Failure {
    let text = error.to_string();
    let text = text.split(" at line ").next().unwrap_or_default();
    Failure::own(Class::Option, format!("options: {text}"))
}

/// Replaces the defaults by the given values, at any depth. An alternative of a choice replaces the default
/// alternative.
pub fn merge(into: &mut Value, given: Value) {
    match (into, given) {
        (Value::Object(into), Value::Object(given)) => {
            let alternative = given.len() == 1 && into.len() == 1 && !given.keys().all(|key| into.contains_key(key));
            if alternative {
                into.clear();
            }
            for (key, value) in given {
                merge(into.entry(key).or_insert(Value::Null), value);
            }
        }
        (into, given) => *into = given,
    }
}
