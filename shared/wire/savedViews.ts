import { z } from 'zod';
import { permissionsOf } from './accounts.ts';
import { BodyFlag, NameOf, Uuid } from './common.ts';
import { FilterExpression } from './filters.ts';
import { ProjectParams } from './projects.ts';
import { SortClause } from './recordSearch.ts';
import { canonicalTime } from './time.ts';

const Moment = z
  .string()
  .max(40)
  .refine(
    (text) => /^\d{1,9}[smhdw]$/.test(text) || canonicalTime(text) !== undefined,
    'not a moment: take one ago, such as 24h or 7d, or a date-time',
  )
  .nullish()
  .transform((given) => given ?? null);
const orNull = <T extends z.ZodType>(schema: T) => schema.nullish().transform((given) => given ?? null);

const content = {
  kind: z.enum(['traces', 'spans', 'sessions']),
  /** As searches take it; null: all records. */
  filter_tree: orNull(FilterExpression),
  /** Bounds of `created_at`: from the one on and before the other, as a time or as one ago (`15m`, `24h`, `7d`); null: without an end. */
  start: Moment,
  end: Moment,
  /** Ids of the columns in their order; null: the usual ones. */
  columns: orNull(z.array(z.string().max(1_000)).max(200)),
  /** Null: newest first. */
  sort: orNull(SortClause),
};

export const SavedViewRequest = z
  .object({
    name: NameOf(255),
    is_shared: BodyFlag(false).describe(
      'True: everybody who sees the project sees it. Sharing takes the right to change the project.',
    ),
    ...content,
  })
  .meta({ id: 'SavedViewRequest' });
export type SavedViewRequest = z.output<typeof SavedViewRequest>;

export const SavedViewContent = z.object(content);
export type SavedViewContent = z.output<typeof SavedViewContent>;

const viewActions = ['update', 'delete'] as const;

export const SavedViewResponse = z
  .object({
    id: Uuid,
    project_id: Uuid,
    name: z.string(),
    is_shared: z.boolean(),
    created_by: Uuid,
    created_at: z.string(),
    updated_at: z.string(),
    ...content,
    permissions: permissionsOf(viewActions),
  })
  .meta({ id: 'SavedView' });

export const SavedViewParams = ProjectParams.extend({ view_id: Uuid });
export const SavedViewsResponse = z.object({ views: z.array(SavedViewResponse) }).meta({ id: 'SavedViews' });
