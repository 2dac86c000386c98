//! Lines in the space of rigid transforms, along each of which one parameter varies, and statistics of a cost function
//! along each line.

use antsreg_core::AffineTransform;
use nalgebra::{Point3, Rotation3, Vector3};

/// One parameter of a rigid transform, with the values at which the cost is evaluated.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    axis: usize,
    turns: bool,
    /// Values of the varied parameter at which the costs are evaluated, relative to the given transform: mm for shifts,
    /// degrees for rotations.
    pub at: Vec<f64>,
}

/// The costs of one cost function along several lines. On each line, one parameter of a rigid transform varies.
#[derive(Debug, Clone)]
pub struct Curve {
    /// Name of the curve: the cost function, and how its joint histogram is filled.
    pub name: String,
    /// Costs of this curve: for each line in the space of transforms, one cost for each value of the parameter that
    /// varies along the line.
    pub costs: Vec<Vec<f64>>,
}

impl Line {
    /// Makes the six lines, along each of which one parameter varies: shifts along x, y and z, then rotations about x,
    /// y and z.
    pub fn all(shift_mm: f64, turn_degrees: f64, points: usize) -> Vec<Line> {
        let steps = |range: f64| (0..=2 * points).map(|n| range * (n as f64 / points as f64 - 1.0)).collect();
        let line = |turns: bool, range: f64| move |axis| Line { axis, turns, at: steps(range) };
        (0..3).map(line(false, shift_mm)).chain((0..3).map(line(true, turn_degrees))).collect()
    }

    /// Name of the transform parameter that varies along this line, with its unit.
    pub fn name(&self) -> String {
        let axis = ["x", "y", "z"][self.axis];
        if self.turns { format!("turn about {axis}, degrees") } else { format!("shift along {axis}, mm") }
    }

    /// The rigid transforms on the line, one for each value of the parameter. Rotations are about `centre`.
    pub fn transforms(&self, centre: &Point3<f64>) -> impl Iterator<Item = AffineTransform> {
        self.at.iter().map(|at| {
            let mut along = Vector3::zeros();
            along[self.axis] = *at;
            if !self.turns {
                return AffineTransform { translation: along, ..AffineTransform::identity() };
            }
            let matrix = Rotation3::new(along * 1f64.to_radians()).into_inner();
            AffineTransform { matrix, translation: centre.coords - matrix * centre.coords }
        })
    }
}

/// Scales the costs of a curve so that the lowest becomes 0 and the highest 1.
pub fn scaled(costs: &[f64]) -> Vec<f64> {
    let (low, high) = costs.iter().fold((f64::MAX, f64::MIN), |(low, high), cost| (low.min(*cost), high.max(*cost)));
    let range = if high > low { high - low } else { 1.0 };
    costs.iter().map(|cost| (cost - low) / range).collect()
}

/// Number of local minima of a curve: values lower than both their neighbours.
fn minima(costs: &[f64]) -> usize {
    costs.windows(3).filter(|three| three[1] < three[0] && three[1] <= three[2]).count()
}

/// Roughness of a curve: the largest second difference of neighbouring values, as a share of the curve's range.
fn roughness(costs: &[f64]) -> f64 {
    scaled(costs).windows(3).map(|three| (three[0] - 2.0 * three[1] + three[2]).abs()).fold(0.0, f64::max)
}

/// The value of the line's parameter at which the cost is lowest.
fn lowest(line: &Line, costs: &[f64]) -> f64 {
    let best = (0..costs.len()).fold(0, |best, index| if costs[index] < costs[best] { index } else { best });
    line.at.get(best).copied().unwrap_or(0.0)
}

/// The table of statistics of the costs, with a row for each transform parameter and each cost function: number of
/// minima, position of the minimum, and roughness.
pub fn summary(lines: &[Line], curves: &[Curve]) -> Vec<Vec<String>> {
    let header = ["Parameter", "Cost", "Minima", "Lowest at", "Roughness"].map(String::from).to_vec();
    let rows = lines.iter().enumerate().flat_map(|(number, line)| {
        curves.iter().map(move |curve| {
            let costs = &curve.costs[number];
            vec![
                line.name(),
                curve.name.clone(),
                minima(costs).to_string(),
                format!("{:.2}", lowest(line, costs)),
                format!("{:.4}", roughness(costs)),
            ]
        })
    });
    std::iter::once(header).chain(rows).collect()
}

/// A CSV table of all costs, with a row for each transform on each line and a column for each curve.
pub fn csv(lines: &[Line], curves: &[Curve]) -> String {
    let names: Vec<&str> = curves.iter().map(|curve| curve.name.as_str()).collect();
    let mut text = format!("parameter,value,{}\n", names.join(","));
    for (number, line) in lines.iter().enumerate() {
        for (index, at) in line.at.iter().enumerate() {
            let costs: Vec<String> =
                curves.iter().map(|curve| format!("{:.9}", curve.costs[number][index])).collect();
            text.push_str(&format!("\"{}\",{at:.4},{}\n", line.name(), costs.join(",")));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_go_through_the_middle() {
        let lines = Line::all(3.0, 2.0, 4);
        assert_eq!(lines.len(), 6);
        let centre = Point3::new(10.0, -20.0, 5.0);
        for line in &lines {
            assert_eq!((line.at[0], line.at.len()), (-line.at[8], 9));
            let motions: Vec<AffineTransform> = line.transforms(&centre).collect();
            assert!((motions[4].matrix - AffineTransform::identity().matrix).amax() < 1e-15);
            // A rotation must leave the centre of the image in place; a shift must move the centre.
            let moved = motions[8].apply(&centre) - centre;
            let far = if line.turns { 0.0 } else { 3.0 };
            assert!((moved.norm() - far).abs() < 1e-12, "{moved} by {}", line.name());
        }
        let about_z = lines[5].transforms(&centre).last().expect("a motion");
        let turned = about_z.apply(&(centre + Vector3::x())) - centre;
        assert!((turned.y.atan2(turned.x).to_degrees() - 2.0).abs() < 1e-9);
    }

    #[test]
    fn curves_are_counted_and_measured() {
        assert_eq!(minima(&[3.0, 1.0, 2.0, 0.5, 4.0]), 2);
        assert_eq!(minima(&[3.0, 2.0, 1.0]), 0);
        // A straight line has a second difference of 0. On a curve with a range of 4, a single peak of 1 has a second
        // difference of 2, so the roughness is ½.
        assert!(roughness(&[0.0, 1.0, 2.0, 3.0]) < 1e-12);
        assert!((roughness(&[0.0, 1.0, 3.0, 3.0, 4.0]) - 0.5).abs() < 1e-12);
        assert_eq!(scaled(&[2.0, 2.0]), [0.0, 0.0]);
    }
}
