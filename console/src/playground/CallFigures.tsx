import type { PlaygroundOutcome } from '../../../shared/wire/playground.ts';
import { costText, countText, durationText, lineText, tokensText, UNKNOWN } from '../parts/format.ts';
import styles from './Playground.module.css';

/** The figures of a call. They are above the output, so that it stays where it is when they come; an unknown figure is a dash. */
export function CallFigures({ outcome }: { outcome: PlaygroundOutcome | undefined }) {
  const figures: [name: string, value: string, more?: string][] = [
    ['Tokens', tokensText({ ...outcome }), tokensMore(outcome)],
    [
      'Cost',
      costText(outcome?.cost),
      outcome && (outcome.cost === null ? 'The price or a count is unknown' : priceText(outcome)),
    ],
    ['Latency', durationText(outcome?.duration_ns)],
    ['First token', durationText(outcome?.time_to_first_token_ns)],
    ['Ended by', outcome?.finish_reason ? lineText(outcome.finish_reason, 100) : UNKNOWN],
  ].map(([name, value, more]) => [String(name), String(value), more] as [string, string, string?]);
  return (
    <dl className={styles.figures}>
      {figures.map(([name, value, more]) => (
        <div key={name} title={more}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

const priceText = ({ price_source: source }: PlaygroundOutcome): string =>
  source === 'integration' ? 'By the prices set on the integration' : 'By the list of prices';

function tokensMore(outcome: PlaygroundOutcome | undefined): string | undefined {
  if (!outcome) return undefined;
  const { num_cached_input_tokens: cached, num_reasoning_output_tokens: reasoning } = outcome;
  const parts = [
    cached === null ? '' : `${countText(cached)} of the input cached`,
    reasoning === null ? '' : `${countText(reasoning)} of the output reasoning`,
  ];
  return parts.filter((part) => part !== '').join(', ') || undefined;
}
