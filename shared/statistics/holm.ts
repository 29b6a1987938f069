/**
 * P-values adjusted for how many there are, by the step-down method of Holm (1979): a reader who takes all differences with an adjusted p below 0.05 for
 * real is wrong about any of them in at most 5 of 100 such families. In the order given.
 */
export function holm(pValues: readonly number[]): number[] {
  const order = pValues.map((_, index) => index).sort((one, other) => (pValues[one] as number) - (pValues[other] as number));
  const adjusted = new Array<number>(pValues.length);
  let least = 0;
  for (const [rank, index] of order.entries()) {
    least = Math.max(least, Math.min(1, (pValues.length - rank) * (pValues[index] as number)));
    adjusted[index] = least;
  }
  return adjusted;
}
