/** Lanczos' approximation with g = 7 and nine coefficients (Godfrey): 15 digits for positive arguments. */
const COEFFICIENTS = [
  676.5203681218851, -1259.1392167224028, 771.3234287776531, -176.6150291621406, 12.507343278686905, -0.13857109526572012,
  0.000009984369578019572, 1.5056327351493116e-7,
];

/** The logarithm of the gamma function of a positive number. */
export function logGamma(x: number): number {
  const shifted = x - 1;
  let sum = 0.9999999999998099;
  for (const [index, coefficient] of COEFFICIENTS.entries()) sum += coefficient / (shifted + index + 1);
  const t = shifted + 7.5;
  return 0.5 * Math.log(2 * Math.PI) + (shifted + 0.5) * Math.log(t) - t + Math.log(sum);
}
