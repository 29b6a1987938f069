import type { Attributes } from '@opentelemetry/api';
import { PrometheusSerializer } from '@opentelemetry/exporter-prometheus';
import { MeterProvider, MetricReader } from '@opentelemetry/sdk-metrics';
import { type Instrument, instruments } from './instruments.ts';

type Instruments = typeof instruments;
type NameOf<K extends Instrument['kind']> = {
  [N in keyof Instruments]: Instruments[N]['kind'] extends K ? N : never;
}[keyof Instruments];

/** The labels of a metric with their values, as the table of instruments declares them. */
export type Labels<N extends keyof Instruments> = {
  readonly [L in keyof Instruments[N]['labels']]: Instruments[N]['labels'][L] extends readonly (infer V)[] ? V : string;
};

export interface Reading<N extends keyof Instruments> {
  value: number;
  labels: Labels<N>;
}

/** Where the parts of the service say what they do. None of it fails, or takes more than microseconds. */
export interface Telemetry {
  /** Raises a counter. */
  add<N extends NameOf<'counter'>>(name: N, by: number, labels: Labels<N>): void;
  /** Notes one value of a histogram, in the unit of its name. */
  record<N extends NameOf<'histogram'>>(name: N, value: number, labels: Labels<N>): void;
  /** From now on a gauge, or a counter that is kept elsewhere, shows what `read` gives whenever the metrics are read. */
  observe<N extends NameOf<'gauge' | 'observedCounter'>>(name: N, read: () => readonly Reading<N>[]): void;
}

/** The metrics of this process. */
export interface ProcessTelemetry extends Telemetry {
  /** All metrics as they are now, in Prometheus' text format 0.0.4. */
  text(): Promise<string>;
}

/** Combinations of label values per metric; what comes beyond them is counted together, under `otel_metric_overflow`. */
const MAX_SERIES = 2_000;

/**
 * Opens the metrics of a process. Each has its own: nothing is registered globally.
 *
 * Counters whose label values are all known begin at 0, so that monitoring sees the first failure as an increase.
 */
export function openTelemetry(): ProcessTelemetry {
  const reader = new PullReader({ cardinalitySelector: () => MAX_SERIES });
  const meter = new MeterProvider({ readers: [reader] }).getMeter('assay');
  const serializer = new PrometheusSerializer(undefined, false, undefined, true, true);

  const optionsOf = ({ unit, description, buckets }: Instrument) => ({
    unit,
    description,
    ...(buckets ? { advice: { explicitBucketBoundaries: [...buckets] } } : {}),
  });
  const made = <K extends Instrument['kind'], I>(kind: K, make: (name: string, options: ReturnType<typeof optionsOf>) => I) =>
    new Map(
      Object.entries<Instrument>(instruments).flatMap(([name, instrument]) =>
        instrument.kind === kind ? [[name, make(name, optionsOf(instrument))] as const] : [],
      ),
    );
  const counters = made('counter', (name, options) => meter.createCounter(name, options));
  const histograms = made('histogram', (name, options) => meter.createHistogram(name, options));
  const observed = new Map([
    ...made('gauge', (name, options) => meter.createObservableGauge(name, options)),
    ...made('observedCounter', (name, options) => meter.createObservableCounter(name, options)),
  ]);
  for (const [name, counter] of counters)
    for (const labels of knownLabels(instruments[name as keyof Instruments].labels)) counter.add(0, labels);

  return {
    add: (name, by, labels) => counters.get(name)?.add(by, labels as Attributes),
    record: (name, value, labels) => histograms.get(name)?.record(value, labels as Attributes),
    observe(name, read) {
      observed.get(name)?.addCallback((result) => {
        for (const { value, labels } of read()) result.observe(value, labels as Attributes);
      });
    },
    async text() {
      const { resourceMetrics } = await reader.collect();
      return serializer.serialize(resourceMetrics);
    },
  };
}

/** Gives its metrics when it is asked, and at no other time. */
class PullReader extends MetricReader {
  protected override async onShutdown(): Promise<void> {}
  protected override async onForceFlush(): Promise<void> {}
}

/** Every combination of the values, where all of them are known; none otherwise. */
function knownLabels(labels: Instrument['labels']): Attributes[] {
  let combinations: Attributes[] = [{}];
  for (const [name, values] of Object.entries(labels)) {
    if (typeof values === 'string') return [];
    combinations = combinations.flatMap((one) => values.map((value) => ({ ...one, [name]: value })));
  }
  return combinations;
}
