import { z } from 'zod';
import { RecordTime } from './time.ts';

const MAX_PRICES = 1_000;
const MAX_TIERS = 20;

const Dollars = z.number().min(0).max(1_000_000);
const Rate = z
  .union([
    Dollars,
    z.strictObject({
      base: Dollars,
      tiers: z
        .array(
          z.strictObject({
            above: z.int().min(0).describe('Input tokens of a call; above them the price holds for all of its tokens.'),
            price: Dollars,
          }),
        )
        .min(1)
        .max(MAX_TIERS),
    }),
  ])
  .nullish();

/** US dollars per million tokens, but for `call`. A part that is absent or null costs what the whole does that it is a part of. */
export const IntegrationPrice = z
  .strictObject({
    model: z.string().trim().min(1).max(500).describe('Name or alias of a model, in any spelling.'),
    valid_from: RecordTime.nullish().describe(
      'The price holds for calls from this time on, until the next one of the model; null: for all before, too.',
    ),
    input: Rate,
    cached_input: Rate,
    cache_write: Rate,
    audio_input: Rate,
    image_input: Rate,
    output: Rate,
    reasoning_output: Rate,
    audio_output: Rate,
    image_output: Rate,
    call: Dollars.nullish().describe('US dollars for each call, whatever it holds.'),
  })
  .refine((price) => price.input != null || price.output != null, 'needs a price for input or output')
  .meta({ id: 'IntegrationPrice' });
export type IntegrationPrice = z.output<typeof IntegrationPrice>;

export const IntegrationPrices = z.strictObject({ prices: z.array(IntegrationPrice).max(MAX_PRICES) }).meta({
  id: 'IntegrationPrices',
  examples: [
    {
      prices: [
        { model: 'house-model', input: 0.5, cached_input: 0.05, output: 2 },
        {
          model: 'house-model',
          valid_from: '2026-07-01T00:00:00Z',
          input: { base: 0.4, tiers: [{ above: 200_000, price: 0.8 }] },
          output: 1.5,
        },
      ],
    },
  ],
});
export type IntegrationPrices = z.output<typeof IntegrationPrices>;
