import type { Logger } from 'pino';
import { RequestInvalid, ServiceError } from '../errors/errors.ts';
import { duration, figureText } from '../figures/figureText.ts';
import { newId } from '../identifiers/ids.ts';
import { answerTokens, tokensOfMessages } from '../modelCalls/callLimits.ts';
import { nameOfModel, pricedName } from '../modelCalls/models.ts';
import type { Prices } from '../prices/openPrices.ts';
import { requestParameters } from '../providers/parameters.ts';
import type { PlaygroundLimitsResponse } from '../wire/playgroundLimits.ts';
import type { PreparedCall } from './playgroundCall.ts';

/** The limits of a project's playground. Null: no limit. */
export interface PlaygroundLimits {
  mostCalls: number | null;
  mostUsdPerDay: number | null;
}

/** The calls of a project's playground, as the store adds them up. */
export interface PlaygroundUse {
  callsNow: number;
  /** Calls of the day. */
  calls: number;
  /** Null where neither the cost nor an estimate is known of any call. */
  usd: number | null;
  /** The part of it that is estimated. */
  estimatedUsd: number;
  callsWithoutCost: number;
}

export interface LimitedProject {
  limits: PlaygroundLimits;
  use: PlaygroundUse;
}

/**
 * Limits of projects and the calls that count, over all processes. They are in Postgres, and not in what processes coordinate by: the money of a day
 * must survive a restart, and one transaction decides on money and calls together.
 */
export interface PlaygroundCallStore {
  /** Undefined when there is no such project. @param day `YYYY-MM-DD` */
  get(projectId: string, day: string): Promise<LimitedProject | undefined>;
  set(projectId: string, limits: PlaygroundLimits): Promise<void>;
  /**
   * Counts a call from now on, one of a project after the other.
   * @param admit throws to refuse the call, which is not counted then
   */
  begin(
    call: { id: string; projectId: string; day: string; estimateUsd: number | null },
    admit: (project: LimitedProject) => void,
  ): Promise<void>;
  /** Says that these calls still run. One of which nothing is heard for {@link CALL_GOOD_MS} counts as ended, and its estimate as its cost. */
  keep(ids: readonly string[]): Promise<void>;
  /** @param usd null where it is unknown: the estimate stays */
  end(id: string, usd: number | null): Promise<void>;
  /** Takes back a call that was not made. */
  drop(id: string): Promise<void>;
}

export const CALL_GOOD_MS = 30_000;
const KEEP_MS = 10_000;

/** Seconds after which a call that found all slots taken may ask again. */
const FULL_RETRY_SECONDS = 10;

export interface PlaygroundLimitsDeps {
  store: PlaygroundCallStore;
  prices: Pick<Prices, 'fresh' | 'costOf'>;
  now: () => Date;
  log: Pick<Logger, 'warn'>;
}

/** A call that counts. One of the two ends it. */
export interface CountedCall {
  /** @param usd what it cost; null where that is unknown */
  end(usd: number | null): Promise<void>;
  /** The call was not made. */
  drop(): Promise<void>;
}

export interface PlaygroundBudget {
  of(projectId: string): Promise<PlaygroundLimitsResponse>;
  set(projectId: string, limits: PlaygroundLimits): Promise<PlaygroundLimitsResponse>;
  /** @throws ServiceError `TooManyRequests` where a limit of the project is reached, RequestInvalid where money is limited and the model has no price */
  begin(call: PreparedCall): Promise<CountedCall>;
}

/** Holds the calls of playgrounds within the limits of their projects. */
export function openPlaygroundLimits({ store, prices, now, log }: PlaygroundLimitsDeps): PlaygroundBudget {
  const running = new Set<string>();
  let keeping: NodeJS.Timeout | undefined;
  const keep = () => {
    store.keep([...running]).catch((err: unknown) => log.warn({ err }, 'calls of the playground could not be kept'));
  };

  const of = async (projectId: string) => {
    const at = now();
    const project = await store.get(projectId, dayOf(at));
    // Deleted between the check of access and here.
    if (!project) throw new ServiceError('NotFound', 'no such project');
    return usedAndLeft(projectId, project, at);
  };

  /** After a call nothing of its end is lost: what cannot be said now counts by its estimate. */
  const settle = async (id: string, work: Promise<void>) => {
    running.delete(id);
    if (running.size === 0) {
      clearInterval(keeping);
      keeping = undefined;
    }
    await work.catch((err: unknown) => log.warn({ err }, 'the end of a call of the playground could not be counted'));
  };

  return {
    of,
    async set(projectId, limits) {
      await store.set(projectId, limits);
      return of(projectId);
    },
    async begin(call) {
      await prices.fresh();
      const id = newId();
      const at = now();
      const { projectId } = call;
      const estimateUsd = estimateOf(call, prices, at);
      await store.begin({ id, projectId, day: dayOf(at), estimateUsd }, (project) =>
        mustFit(usedAndLeft(projectId, project, at), call, estimateUsd, at),
      );
      running.add(id);
      keeping ??= setInterval(keep, KEEP_MS).unref();
      return { end: (usd) => settle(id, store.end(id, usd)), drop: () => settle(id, store.drop(id)) };
    },
  };
}

const dayOf = (at: Date): string => at.toISOString().slice(0, 10);

const nextDay = (at: Date): Date => new Date(Date.UTC(at.getUTCFullYear(), at.getUTCMonth(), at.getUTCDate() + 1));

/** The one place that says what is used of the limits and what is left: answers, refusals and pages go by it. */
function usedAndLeft(projectId: string, { limits, use }: LimitedProject, at: Date): PlaygroundLimitsResponse {
  const { mostCalls, mostUsdPerDay } = limits;
  return {
    project_id: projectId,
    most_calls: mostCalls,
    most_cost_per_day: mostUsdPerDay,
    used: {
      calls_now: use.callsNow,
      day: dayOf(at),
      resets_at: nextDay(at).toISOString(),
      calls: use.calls,
      cost: use.usd === null ? (use.calls === 0 ? 0 : null) : rounded(use.usd),
      estimated_cost: rounded(use.estimatedUsd),
      calls_without_cost: use.callsWithoutCost,
    },
    left: {
      calls: mostCalls === null ? null : Math.max(0, mostCalls - use.callsNow),
      cost: mostUsdPerDay === null ? null : Math.max(0, rounded(mostUsdPerDay - (use.usd ?? 0))),
    },
  };
}

/** Dollars without what binary fractions add: 0.3 - 0.1 - 0.1 is 0.1. No price is this small. */
const rounded = (usd: number): number => Math.round(usd * 1e12) / 1e12;

/** Returns the cost of a call whose answer is as long as it may be, or 500 tokens where nothing bounds it; null where the model has no price. */
function estimateOf({ messages, settings, resolved }: PreparedCall, prices: Pick<Prices, 'costOf'>, at: Date): number | null {
  const parameters = requestParameters(resolved.model, settings, true);
  const answers = typeof parameters.n === 'number' && parameters.n > 1 ? parameters.n : 1;
  return prices.costOf({
    ...pricedName(resolved),
    at: at.toISOString(),
    inputTokens: tokensOfMessages(messages),
    outputTokens: answerTokens(parameters) * answers,
  });
}

function mustFit(limits: PlaygroundLimitsResponse, call: PreparedCall, estimateUsd: number | null, at: Date): void {
  const { most_calls: mostCalls, most_cost_per_day: mostCost, used, left } = limits;
  if (left.calls === 0)
    throw new ServiceError(
      'TooManyRequests',
      `the playground of this project may have ${calls(mostCalls)} at once, and ${used.calls_now} run now: run this one when one of them has ended`,
      { retryAfterSeconds: FULL_RETRY_SECONDS },
    );
  if (left.cost === null) return;
  if (estimateUsd === null) {
    const msg = `the playground of this project may cost ${dollars(mostCost)} a day, and no price is known of the model ${JSON.stringify(nameOfModel(call.resolved))}: set one on its integration`;
    throw new RequestInvalid([{ loc: ['body', 'settings', 'model_alias'], type: 'price_unknown', msg }]);
  }
  if (rounded(estimateUsd) <= left.cost) return;
  const estimated = used.estimated_cost > 0 ? `, ${dollars(used.estimated_cost)} of it estimated` : '';
  const unknown = used.calls_without_cost > 0 ? `, without ${calls(used.calls_without_cost)} of unknown cost` : '';
  const frees = `it is free again at 00:00 UTC, in ${duration(nextDay(at).getTime() - at.getTime())}`;
  throw new ServiceError(
    'TooManyRequests',
    `the playground of this project may cost ${dollars(mostCost)} a day (UTC): ${dollars(used.cost)} is used by ${calls(used.calls)}${estimated}${unknown}, and this call may cost ${dollars(estimateUsd)}. ${
      estimateUsd > (mostCost ?? 0) ? 'Ask for fewer tokens, or for a higher limit' : `Ask for fewer tokens, or wait: ${frees}`
    }`,
    { retryAfterSeconds: Math.ceil((nextDay(at).getTime() - at.getTime()) / 1_000) },
  );
}

const calls = (count: number | null): string => (count === 1 ? '1 call' : `${count} calls`);

const dollars = (usd: number | null): string => (usd === null ? 'an unknown amount' : figureText(usd, 'dollars'));
