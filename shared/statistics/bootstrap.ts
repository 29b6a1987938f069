import { binomialDraw } from './binomialDraw.ts';
import { type Differences, eachDifference } from './differences.ts';
import { percentile } from './percentile.ts';
import { Random } from './random.ts';

export interface Interval {
  low: number;
  high: number;
}

interface Resampling {
  resamples: number;
  seed: number;
  /** Share of the resampled means that lie within the interval. */
  level: number;
}

/**
 * Percentile bootstrap intervals of the mean, one for each sample: as many pairs are drawn from the sample as it has, with replacement, and their mean
 * taken, again and again. Samples with the same number of pairs share the random numbers, which takes half the time; the interval of one follows from
 * itself and the seed alone.
 */
export function bootstrap(samples: readonly Differences[], resampling: Resampling): Interval[] {
  const means = new Map<Differences, Float64Array>();
  const ofEqualSize = new Map<number, Differences[]>();
  for (const sample of samples) {
    if (isCheaperCounted(sample)) means.set(sample, countedMeans(sample, resampling));
    else ofEqualSize.set(sample.pairs, [...(ofEqualSize.get(sample.pairs) ?? []), sample]);
  }
  for (const group of ofEqualSize.values())
    for (const [index, ofSample] of meansTogether(group, resampling).entries()) means.set(group[index] as Differences, ofSample);
  return samples.map((sample) => intervalOf(means.get(sample) as Float64Array, resampling.level));
}

function intervalOf(means: Float64Array, level: number): Interval {
  means.sort();
  return { low: percentile(means, (1 - level) / 2), high: percentile(means, (1 + level) / 2) };
}

/** A draw from a binomial distribution takes as long as some fifty drawn pairs. */
const isCheaperCounted = ({ values, pairs }: Differences): boolean => values.length * 50 < pairs;

/** How often each distinct value is drawn is multinomial: one binomial number after the other. */
function countedMeans({ values, counts, pairs }: Differences, { resamples, seed }: Resampling): Float64Array {
  const random = new Random(seed);
  const means = new Float64Array(resamples);
  for (let resample = 0; resample < resamples; resample++) {
    let sum = 0;
    let draws = pairs;
    let left = pairs;
    for (let index = 0; index < values.length; index++) {
      const count = counts[index] as number;
      const drawn = count === left ? draws : binomialDraw(random, draws, count / left);
      sum += drawn * (values[index] as number);
      draws -= drawn;
      left -= count;
    }
    means[resample] = sum / pairs;
  }
  return means;
}

function meansTogether(samples: readonly Differences[], { resamples, seed }: Resampling): Float64Array[] {
  const pairs = samples[0]?.pairs ?? 0;
  const random = new Random(seed);
  const all = samples.map(eachDifference);
  const means = samples.map(() => new Float64Array(resamples));
  const drawn = new Uint32Array(pairs);
  const scale = pairs / 2 ** 32;
  for (let resample = 0; resample < resamples; resample++) {
    random.fill(drawn);
    for (let index = 0; index < pairs; index++) drawn[index] = (drawn[index] as number) * scale;
    for (const [index, values] of all.entries()) (means[index] as Float64Array)[resample] = sumOf(values, drawn) / pairs;
  }
  return means;
}

/** Four sums at a time: one would wait for each addition to end before the next, and take three times as long. */
function sumOf(values: Float64Array, drawn: Uint32Array): number {
  const whole = drawn.length - (drawn.length % 4);
  let a = 0;
  let b = 0;
  let c = 0;
  let d = 0;
  for (let index = 0; index < whole; index += 4) {
    a += values[drawn[index] as number] as number;
    b += values[drawn[index + 1] as number] as number;
    c += values[drawn[index + 2] as number] as number;
    d += values[drawn[index + 3] as number] as number;
  }
  for (let index = whole; index < drawn.length; index++) a += values[drawn[index] as number] as number;
  return a + b + (c + d);
}
