import { z } from 'zod';

const Color = z.enum(['red', 'yellow', 'green']);
const Constraint = {
  numeric: z.object({
    color: Color,
    operator: z.enum(['eq', 'gt', 'gte', 'lt', 'lte', 'between']),
    value: z.union([z.number(), z.array(z.number())]),
  }),
  boolean: z.object({ color: Color, operator: z.literal('eq'), value: z.boolean() }),
  categorical: z.object({ color: Color, operator: z.enum(['eq', 'one_of']), value: z.union([z.string(), z.array(z.string())]) }),
};
/** Colors of the numbers of a metric. */
export const NumericColorPicker = z.object({ type: z.literal('numeric'), constraints: z.array(Constraint.numeric).min(1) });
/** Colors of the values of a metric, by their type. */
export const MetricColorPicker = z.discriminatedUnion('type', [
  NumericColorPicker,
  z.object({ type: z.literal('boolean'), constraints: z.array(Constraint.boolean).min(1) }),
  z.object({ type: z.literal('categorical'), constraints: z.array(Constraint.categorical).min(1) }),
  z.object({ type: z.literal('multi_label'), constraints: z.array(Constraint.categorical).min(1) }),
]);
