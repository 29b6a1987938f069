import { z } from 'zod';
import { ProjectRole, permissionsOf, UserInfo } from './accounts.ts';
import { AnnotationAggregate, AnnotationRating, Label } from './annotationRatings.ts';
import { BodyFlag, NameOf, orDefault, PageFields, Uuid } from './common.ts';
import { NameOrText } from './datasets.ts';
import { DeletionFilterExpression, type Filter, FilterExpression } from './filters.ts';
import { IdFilter, NameFilter, NumberFilter, TimeFilter } from './listFilters.ts';
import { RecordLimit, SelectColumns, SortClause } from './recordSearch.ts';

// Queues of records that people rate.

/** A queue holds at most this many records: what people can ever rate, and what one statement can name. */
export const MAX_QUEUE_RECORDS = 100_000;

export const queueActions = ['update', 'delete', 'share', 'record_annotation'] as const;

export const QueueParams = z.object({ queue_id: Uuid });
export const QueueUserParams = z.object({ queue_id: Uuid, user_id: Uuid });
export const QueueTemplateParams = z.object({ queue_id: Uuid, template_id: Uuid });
export const QueueRecordParams = z.object({ queue_id: Uuid, record_id: Uuid });

// Templates

export interface TreeChoiceNode {
  label: string;
  id: string;
  children: TreeChoiceNode[];
}
const branches = () => z.array(TreeChoiceNode).max(50);
const TreeChoiceNode: z.ZodType<TreeChoiceNode> = z
  .lazy(() =>
    z.object({
      label: Label,
      id: Label,
      children: branches()
        .nullish()
        .transform((children) => children ?? []),
    }),
  )
  .meta({ id: 'TreeChoiceNode' });
export const ChoicesTree = branches();
export const ChoicesTreeYaml = z.string().min(1).max(10_000);

const constraintsOf = <const T extends string, S extends z.ZodRawShape>(annotation_type: T, fields: S) =>
  z.object({ annotation_type: z.literal(annotation_type), ...fields });
const plainConstraints = [
  constraintsOf('like_dislike', {}).meta({ id: 'LikeDislikeConstraints' }),
  constraintsOf('star', {}).meta({ id: 'StarConstraints' }),
  constraintsOf('score', { min: z.int().min(0), max: z.int().min(0) })
    .refine(({ min, max }) => min <= max, { path: ['max'], error: 'max must not be below min' })
    .meta({ id: 'ScoreConstraints' }),
  constraintsOf('tags', { tags: z.array(Label), allow_other: BodyFlag(false) }).meta({ id: 'TagsConstraints' }),
  constraintsOf('text', {}).meta({ id: 'TextConstraints' }),
  constraintsOf('choice', { choices: z.array(Label), allow_other: BodyFlag(false) }).meta({ id: 'ChoiceConstraints' }),
] as const;
const TreeChoiceConstraints = constraintsOf('tree_choice', {
  choices_tree: ChoicesTree.nullish(),
  choices_tree_yaml: ChoicesTreeYaml.nullish(),
})
  .refine(({ choices_tree: tree, choices_tree_yaml: yaml }) => tree || yaml, {
    path: ['choices_tree'],
    error: 'give the choices: choices_tree or choices_tree_yaml',
  })
  .meta({ id: 'TreeChoiceConstraints' });
const TreeChoiceDBConstraints = constraintsOf('tree_choice', {
  choices_tree: ChoicesTree,
  choices_tree_yaml: ChoicesTreeYaml,
}).meta({ id: 'TreeChoiceDBConstraints' });

export const AnnotationConstraints = z.discriminatedUnion('annotation_type', [...plainConstraints, TreeChoiceConstraints]);
export type AnnotationConstraints = z.output<typeof AnnotationConstraints>;
/** Constraints as they are kept: of choices in a tree, both the tree and its YAML text. */
export const StoredConstraints = z.discriminatedUnion('annotation_type', [...plainConstraints, TreeChoiceDBConstraints]);
export type StoredConstraints = z.output<typeof StoredConstraints>;

const Criteria = z.string().min(1);
export const AnnotationTemplateCreate = z
  .object({
    name: NameOf(255),
    include_explanation: BodyFlag(false),
    criteria: Criteria.nullish(),
    constraints: AnnotationConstraints,
  })
  .meta({ id: 'AnnotationTemplateCreate' });
export type AnnotationTemplateCreate = z.output<typeof AnnotationTemplateCreate>;
export const CreateQueueTemplateRequest = z
  .object({ template: AnnotationTemplateCreate.nullish(), copy_from_queue_id: Uuid.nullish() })
  .refine(({ template, copy_from_queue_id: copy }) => Boolean(template) !== Boolean(copy), {
    path: ['template'],
    error: 'give exactly one of template and copy_from_queue_id',
  })
  .meta({ id: 'CreateQueueTemplateRequest' });
export const AnnotationTemplateUpdate = z
  .object({ name: NameOf(255), criteria: Criteria.nullable() })
  .meta({ id: 'AnnotationTemplateUpdate' });
export const AnnotationTemplateReorder = z
  .object({ ordering: z.array(Uuid).max(10_000) })
  .meta({ id: 'AnnotationTemplateReorder' });
export const AnnotationTemplateDB = z
  .object({
    id: Uuid,
    name: z.string(),
    include_explanation: z.boolean(),
    criteria: z.string().nullable(),
    constraints: StoredConstraints,
    created_at: z.iso.datetime(),
    created_by: Uuid.nullable(),
    position: z.int(),
    usage_count: z.int(),
  })
  .meta({ id: 'AnnotationTemplateDB' });

// Queues

const Description = z.string().max(256);
export const CreateAnnotationQueueRequest = z
  .object({
    name: NameOrText,
    description: Description.nullish(),
    annotator_emails: z.array(z.email()).max(1_000).nullish(),
    copy_templates_from_queue_id: Uuid.nullish(),
  })
  .meta({ id: 'CreateAnnotationQueueRequest' });
export const UpdateAnnotationQueueRequest = z
  .object({ name: NameOrText.nullish(), description: Description.nullish() })
  .meta({ id: 'UpdateAnnotationQueueRequest' });
export const AnnotationQueueResponse = z
  .object({
    id: Uuid,
    permissions: permissionsOf(queueActions),
    name: z.string(),
    description: z.string().nullable(),
    created_at: z.iso.datetime(),
    updated_at: z.iso.datetime(),
    created_by_user: UserInfo.nullable(),
    num_log_records: z.int(),
    num_annotators: z.int(),
    num_users: z.int(),
    num_templates: z.int(),
    num_logs_annotated: z.record(z.string(), z.int()).nullable(),
    progress: z.record(z.string(), z.number()).nullable(),
    overall_progress: z.number().nullable(),
    templates: z.array(AnnotationTemplateDB),
  })
  .meta({ id: 'AnnotationQueueResponse' });

const AgreementBucket = z
  .object({ min_inclusive: z.number(), max_exclusive: z.number().nullable(), count: z.int() })
  .meta({ id: 'AnnotationAgreementBucket' });
export const AnnotationAgreementAggregate = z
  .object({ buckets: z.array(AgreementBucket), average_agreement: z.number() })
  .meta({ id: 'AnnotationAgreementAggregate' });
export type AnnotationAgreementAggregate = z.output<typeof AnnotationAgreementAggregate>;
const aggregates = z.record(z.string(), AnnotationAggregate);
export const AnnotationQueueDetailsResponse = z
  .object({
    num_logs_fully_annotated: z.int(),
    annotation_aggregates: aggregates.nullable(),
    /** By annotator, then by template. */
    annotation_aggregates_by_annotator: z.record(z.string(), aggregates).nullable(),
    overall_annotation_agreement: AnnotationAgreementAggregate.nullable(),
  })
  .meta({ id: 'AnnotationQueueDetailsResponse' });

export const AnnotationQueueFilter = z.discriminatedUnion('name', [
  IdFilter('id').meta({ id: 'AnnotationQueueIDFilter' }),
  NameFilter('name').meta({ id: 'AnnotationQueueNameFilter' }),
  z.object({ name: z.literal('project_id'), value: Uuid }).meta({ id: 'AnnotationQueueProjectFilter' }),
  TimeFilter('created_at').meta({ id: 'AnnotationQueueCreatedAtFilter' }),
  TimeFilter('updated_at').meta({ id: 'AnnotationQueueUpdatedAtFilter' }),
  NumberFilter('num_log_records').meta({ id: 'AnnotationQueueNumLogRecordsFilter' }),
  NumberFilter('num_annotators').meta({ id: 'AnnotationQueueNumAnnotatorsFilter' }),
  NumberFilter('num_users').meta({ id: 'AnnotationQueueNumUsersFilter' }),
  NumberFilter('overall_progress').meta({ id: 'AnnotationQueueOverallProgressFilter' }),
  NumberFilter('num_templates').meta({ id: 'AnnotationQueueNumTemplatesFilter' }),
]);
export type AnnotationQueueFilter = z.output<typeof AnnotationQueueFilter>;

const sortBy = <const N extends string>(name: N, id: string) =>
  z
    .object({
      name: z.literal(name),
      ascending: BodyFlag(true),
      sort_type: z.literal('column').nullish(),
    })
    .meta({ id });
export const AnnotationQueueSort = z.discriminatedUnion('name', [
  sortBy('name', 'AnnotationQueueNameSort'),
  sortBy('created_at', 'AnnotationQueueCreatedAtSort'),
  sortBy('updated_at', 'AnnotationQueueUpdatedAtSort'),
  sortBy('created_by', 'AnnotationQueueCreatedBySort'),
  sortBy('num_users', 'AnnotationQueueNumUsersSort'),
  sortBy('num_log_records', 'AnnotationQueueNumLogRecordsSort'),
  sortBy('num_templates', 'AnnotationQueueNumTemplatesSort'),
  sortBy('num_annotators', 'AnnotationQueueNumAnnotatorsSort'),
  sortBy('overall_progress', 'AnnotationQueueOverallProgressSort'),
]);
export type AnnotationQueueSort = z.output<typeof AnnotationQueueSort>;

export const ListAnnotationQueueParams = z
  .object({ filters: z.array(AnnotationQueueFilter).max(100).nullish(), sort: AnnotationQueueSort.nullish() })
  .meta({ id: 'ListAnnotationQueueParams' })
  .nullish()
  .transform((body) => ({ filters: body?.filters ?? [], sort: body?.sort ?? null }));
export const ListAnnotationQueueResponse = z
  .object({ ...PageFields, annotation_queues: z.array(AnnotationQueueResponse) })
  .meta({ id: 'ListAnnotationQueueResponse' });
export const AnnotationQueueCountResponse = z.object({ total_count: z.int() }).meta({ id: 'AnnotationQueueCountResponse' });

// Users of a queue

const tracked = BodyFlag(true);
export const QueueUsersCreate = z
  .array(
    z
      .object({
        role: ProjectRole.nullish().transform((role) => role ?? 'viewer'),
        user_id: Uuid.nullish(),
        user_email: z.email().nullish(),
        track_progress: tracked,
      })
      .refine(({ user_id, user_email }) => user_id || user_email, {
        path: ['user_id'],
        error: 'name the user: user_id or user_email',
      })
      .meta({ id: 'AnnotationQueueUserCollaboratorCreate' }),
  )
  .max(1_000);
export const QueueUserUpdate = z
  .object({ role: ProjectRole, track_progress: z.boolean().nullish() })
  .meta({ id: 'AnnotationQueueUserCollaboratorUpdate' });
export const QueueUser = z
  .object({
    id: Uuid,
    permissions: permissionsOf(['update', 'delete'] as const),
    role: ProjectRole,
    created_at: z.iso.datetime(),
    user_id: Uuid,
    first_name: z.string().nullable(),
    last_name: z.string().nullable(),
    email: z.string(),
    annotation_queue_id: Uuid,
    track_progress: z.boolean(),
    progress: z.number().nullable(),
  })
  .meta({ id: 'UserAnnotationQueueCollaborator' });
export const QueueUsersPage = z
  .object({ ...PageFields, collaborators: z.array(QueueUser) })
  .meta({ id: 'ListAnnotationQueueCollaboratorsResponse' });

// Records in a queue

/** Both are the default of their own schema, so a selector without `type` is recognised by its key. */
const recordSelector = (filter: z.ZodType<Filter>) =>
  z.preprocess(
    (given) => {
      if (typeof given !== 'object' || given === null || Array.isArray(given) || 'type' in given) return given;
      return { ...given, type: 'record_ids' in given ? 'record_ids' : 'filter_tree' };
    },
    z.discriminatedUnion('type', [
      z
        .object({ type: z.literal('record_ids'), record_ids: z.array(Uuid).min(1).max(100_000) })
        .meta({ id: 'AnnotationQueueRecordsByRecordIDs' }),
      z.looseObject({ type: z.literal('filter_tree'), filter_tree: filter }).meta({ id: 'AnnotationQueueRecordsByFilterTree' }),
    ]),
  );
const RecordSelector = recordSelector(FilterExpression);
export type RecordSelector = z.output<typeof RecordSelector>;

export const AddRecordsToQueueRequest = z
  .object({ project_id: Uuid, run_id: Uuid, record_selector: RecordSelector })
  .meta({ id: 'AddRecordsToQueueRequest' });
export const AddRecordsToQueueResponse = z.object({ num_records_added: z.int() }).meta({ id: 'AddRecordsToQueueResponse' });
export const RemoveRecordsFromQueueRequest = z
  .object({ record_selector: recordSelector(DeletionFilterExpression) })
  .meta({ id: 'RemoveRecordsFromQueueRequest' });
export const RemoveRecordsFromQueueResponse = z
  .object({ num_records_removed: z.int() })
  .meta({ id: 'RemoveRecordsFromQueueResponse' });
export const AnnotationQueuePartialSearchRequest = z
  .object({
    starting_token: z
      .int()
      .min(0)
      .nullish()
      .transform((given) => given ?? 0),
    limit: orDefault(RecordLimit, 100),
    previous_last_row_id: Uuid.nullish(),
    filter_tree: FilterExpression.nullish(),
    sort: SortClause.nullish(),
    select_columns: SelectColumns,
    truncate_fields: BodyFlag(false),
    include_counts: BodyFlag(false),
  })
  .meta({ id: 'AnnotationQueuePartialSearchRequest' });
export const AnnotationQueueCountRequest = z
  .object({ filter_tree: FilterExpression.nullish() })
  .meta({ id: 'AnnotationQueueCountRequest' })
  .nullish();
export const AnnotationQueueExportRequest = z
  .object({
    column_ids: z.array(z.string()).max(1_000).nullish(),
    export_format: z
      .enum(['csv', 'jsonl', 'jsonl_flat'])
      .nullish()
      .transform((given) => given ?? 'jsonl'),
    redact: BodyFlag(true),
    file_name: z.string().max(1_000).nullish(),
    export_computed_metrics_only: BodyFlag(false),
    /** In csv, texts that a spreadsheet would run as a formula begin with `'`. */
    spreadsheet_safe: BodyFlag(false),
    byte_order_mark: BodyFlag(false),
    record_selector: RecordSelector,
  })
  .meta({ id: 'AnnotationQueueExportRequest' });
export type AnnotationQueueExportRequest = z.output<typeof AnnotationQueueExportRequest>;
export const AnnotationQueueExportUrlResponse = z
  .object({ url: z.string(), url_expires_at: z.iso.datetime(), file_name: z.string(), content_type: z.string() })
  .meta({ id: 'AnnotationQueueExportUrlResponse' });

// Ratings

export const RatingQuery = z.object({ annotation_template_id: Uuid });
const Explanation = z.string().min(1);
export const AnnotationRatingCreate = z
  .object({ explanation: Explanation.nullish(), rating: AnnotationRating })
  .meta({ id: 'AnnotationRatingCreate' });
export const AnnotationRatingDB = z
  .object({
    explanation: z.string().nullable(),
    rating: AnnotationRating,
    created_at: z.iso.datetime(),
    created_by: Uuid.nullable(),
  })
  .meta({ id: 'AnnotationRatingDB' });
