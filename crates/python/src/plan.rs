//! Registration methods from JSON that the Python package sends: a preset with changes, or a list of stages.

use antsreg_register::linear::{Cost, Start};
use antsreg_register::option;
use antsreg_register::syn::{Channel, Metric};
use antsreg_register::{Options, Preset, Recipe, Stage};
use pyo3::prelude::*;
use serde_json::Value;

use crate::error::{Class, Failure};
use crate::options::{OptionValue, refused};

/// The requested method of a registration (a preset or a list of stages), before the images are known.
#[pyclass(frozen, module = "antsreg_gpu._native")]
#[derive(Debug, Clone)]
pub struct Plan(Kind);

#[derive(Debug, Clone)]
enum Kind {
    /// A registration method that is given as a preset with changed options.
    Recipe(Box<Recipe>),
    /// A registration method that is given as a list of stages with all their options.
    Stages(Vec<Stage>),
}

#[pymethods]
impl Plan {
    /// Makes the method of a registration from a preset. `json` names the preset and contains the changed options.
    /// `further` is the number of additional image channels. The `metric` of the deformable stage applies to all
    /// channels. `options` are options of the command `register` by their names, which change the preset at last.
    #[staticmethod]
    fn recipe(json: &str, further: usize, options: Vec<(String, OptionValue)>) -> Result<Plan, Failure> {
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
            recipe.set_metric(metric);
        }
        let metric = recipe.syn.channels.first().map_or_else(Metric::default, |channel| channel.metric);
        recipe.syn.channels.extend((0..further).map(|_| Channel { metric, weight: 1.0 }));
        let mut value = serde_json::to_value(&recipe).map_err(unreadable)?;
        merge(&mut value, given);
        let mut recipe: Recipe = serde_json::from_value(value).map_err(unreadable)?;
        let given = options.into_iter().map(|(name, value)| option::named(&name, &value.into()));
        let given: Vec<_> = given.collect::<Result<_, _>>().map_err(refused)?;
        option::apply(&mut recipe, &given).and_then(|()| option::check_metrics(&recipe, &given)).map_err(refused)?;
        Ok(Plan(Kind::Recipe(Box::new(recipe))))
    }

    /// Makes the method of a registration from a list of stages in JSON.
    #[staticmethod]
    fn stages(json: &str) -> Result<Plan, Failure> {
        Ok(Plan(Kind::Stages(read(json)?)))
    }

    /// Name of the default initial transform of this method: `headers` or `centre-of-mass`.
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
    /// The complete options of a registration to a fixed grid of this shape (voxels), from this initial transform.
    ///
    /// # Errors
    /// If the degrees of freedom or the levels do not suit the grid.
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

/// Words of the JSON library and of Rust, with those that stand for them in messages.
const WORDS: [(&str, &str); 11] = [
    ("unknown variant", "unknown value"),
    ("unknown field", "unknown option"),
    ("missing field", "missing option"),
    ("invalid type: ", "found "),
    ("invalid value: ", "found "),
    ("floating point", "number"),
    ("expected f64", "expected a number"),
    ("expected f32", "expected a number"),
    ("expected usize", "expected a whole number"),
    ("a sequence", "a list"),
    ("a map", "a dictionary"),
];

/// The error for options in JSON that cannot be read. The position in the JSON is left out, because the user gave a
/// Python dictionary.
pub fn unreadable(error: serde_json::Error) -> Failure {
    let text = error.to_string();
    let text = text.split(" at line ").next().unwrap_or_default().to_owned();
    let text = WORDS.iter().fold(text, |text, (word, plain)| text.replace(word, plain));
    Failure::own(Class::Option, format!("options: {text}"))
}

/// Replaces default options by the given options, also in nested objects. If an option is a choice between alternatives
/// (an object with one key), another alternative replaces the default one completely.
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
