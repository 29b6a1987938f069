import { logFairProbability } from './binomialProbability.ts';

/**
 * The exact test of McNemar: of the pairs whose two answers differ, as many should go one way as the other. p = min(1, 2 P(X <= min(b, c))) with
 * X ~ Bin(b + c, 1/2). Computed in logarithms, so that 100,000 pairs neither overflow nor vanish.
 */
export function mcnemar(oneWay: number, otherWay: number): number {
  const [less, all] = [Math.min(oneWay, otherWay), oneWay + otherWay];
  if (all === 0) return 1;
  // Each term is the one above it times k / (n - k + 1), so the sum is the last term times a sum of products.
  let [sum, product] = [1, 1];
  for (let k = less; k > 0 && product > sum * Number.EPSILON; k--) {
    product *= k / (all - k + 1);
    sum += product;
  }
  return Math.min(1, 2 * Math.exp(logFairProbability(less, all) + Math.log(sum)));
}
