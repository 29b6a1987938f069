import { figureText } from '../../../shared/figures/figureText.ts';
import type { PlaygroundLimitsResponse } from '../../../shared/wire/playgroundLimits.ts';
import { countText } from '../parts/format.ts';

/** Writes what is used of the limits of a project's playground, each figure beside its limit. */
export function limitsText({ most_calls: most, most_cost_per_day: mostCost, used, left }: PlaygroundLimitsResponse) {
  const running = used.calls_now === 1 ? 'call runs' : 'calls run';
  const of = mostCost === null ? '' : ` of ${usd(mostCost)}`;
  const remaining = left.cost === null ? '' : `, ${usd(left.cost)} left`;
  const parts = [
    `in ${calls(used.calls)}`,
    ...(used.estimated_cost > 0 ? [`${usd(used.estimated_cost)} of it estimated`] : []),
    ...(used.calls_without_cost > 0 ? [`without ${calls(used.calls_without_cost)} of unknown cost`] : []),
  ];
  return {
    calls:
      most === null ? `${countText(used.calls_now)} ${running} now` : `${countText(used.calls_now)} of ${calls(most)} at once`,
    cost: `${usd(used.cost)}${of} used today (UTC)${remaining}`,
    costDetail: parts.join(', '),
  };
}

const usd = (amount: number | null): string => figureText(amount, 'dollars');
const calls = (count: number): string => (count === 1 ? '1 call' : `${countText(count)} calls`);
