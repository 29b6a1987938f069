import type { PageOf } from '../accounts/accountStore.ts';
import type { AssetViewer } from '../assets/assetAccess.ts';
import type { PageRequest } from '../wire/common.ts';
import type { DatasetFilter, DatasetSort, UserInfo } from '../wire/datasets.ts';
import type { ExactNumber } from '../wire/exactNumber.ts';

/** The value of a cell. Any other value in an upload is stored as its JSON text. */
export type Cell = string | number | ExactNumber | null | { [key: string]: string | number | ExactNumber | null };

/** A row of one version, as experiments read it. */
export interface DatasetRow {
  rowId: string;
  /** Position in the version, from 0. */
  ordinal: number;
  /** Cells by column name, in column order; every column of the version is present. */
  values: Record<string, Cell>;
}

/** A column of a version. Cells are stored under its key, which is never given to another column of the dataset. */
export interface Column {
  key: number;
  name: string;
}

/** A row as stored: immutable, at a key that is never given to another row of the same owner (a dataset, or one run's own rows). */
export interface StoredRow {
  rowKey: number;
  rowId: string;
  /** Cells by column key; a missing one is null. */
  cells: Record<string, Cell>;
  createdInVersion: number;
  createdAt: string;
  createdBy: string;
  updatedInVersion: number;
  updatedAt: string;
  updatedBy: string;
}

/** Rows of consecutive keys: `count` rows from `rowKey` on. A version's order is a list of these. */
export interface KeyRange {
  rowKey: number;
  count: number;
}

export interface Dataset {
  id: string;
  name: string;
  hidden: boolean;
  draft: boolean;
  currentVersionIndex: number;
  numRows: number;
  columns: Column[];
  projectCount: number;
  createdBy: UserInfo;
  createdAt: string;
  updatedAt: string;
}

export interface VersionChanges {
  rowsAdded: number;
  rowsRemoved: number;
  rowsEdited: number;
  columnsAdded: number;
  columnsRemoved: number;
  columnsRenamed: number;
}

export interface DatasetVersion extends VersionChanges {
  datasetId: string;
  versionIndex: number;
  contentId: string;
  name: string | null;
  numRows: number;
  columns: Column[];
  createdBy: UserInfo;
  createdAt: string;
}

/** A filter and an order of the rows of a content. It names columns by their keys. */
export interface ContentQuery {
  filters: { columnKey: number; operator: 'eq' | 'ne' | 'contains'; value: string }[];
  sort: { columnKey: number; ascending: boolean } | null;
}

/** A choice of the rows of a content: the rows that fit all conditions, a sample of these, the first of the sample. */
export interface RowChoice {
  filters: ContentQuery['filters'];
  ordinals?: number[];
  /** The rows of another list: of keys, to be found by the ids of their rows, or of ordinals. */
  like?: { by: 'id' | 'ordinal'; ownerId: string; contentId: string };
  /** `by` what a row is drawn. */
  sample?: { size: number; seed: number; by: 'id' | 'ordinal' };
  limit?: number;
}

/** Where rows are kept. `ownerId` is a dataset, or the storage of one run's own rows; `contentId` names a list ordinal -> row. */
export interface RowTables {
  insertRows(ownerId: string, rows: readonly StoredRow[]): Promise<void>;
  insertRanges(ownerId: string, contentId: string, ranges: readonly KeyRange[]): Promise<void>;
  /** The ranges of a content that hold the ordinals [from, to), whole list by default, cut to that range, in order. */
  ranges(ownerId: string, contentId: string, from?: number, to?: number): Promise<KeyRange[]>;
  /** The rows of these ranges, in their order: as many of them as some MB hold, and at least the first. */
  page(ownerId: string, ranges: readonly KeyRange[]): Promise<StoredRow[]>;
  /** Ids of the rows of these ranges, in their order, all of them. */
  ids(ownerId: string, ranges: readonly KeyRange[]): Promise<string[]>;
  /** Keys of all stored rows with one of these ids, of any version. */
  keysOf(ownerId: string, rowIds: readonly string[]): Promise<{ rowKey: number; rowId: string }[]>;
  /** Ordinal and key of the rows that fit, one page of them, and how many fit in all. */
  find(
    ownerId: string,
    contentId: string,
    query: ContentQuery,
    page: { from: number; limit: number },
  ): Promise<{ total: number; found: { ordinal: number; rowKey: number }[] }>;
  /** Lists the chosen rows of a content by position, in their order: their keys, and their ordinals in the content. @returns how many they are */
  select(
    content: { ownerId: string; contentId: string },
    choice: RowChoice,
    into: { ownerId: string; keys: string; ordinals: string },
  ): Promise<number>;
  /** Ordinals of the rows of a content that have one of these ids. */
  ordinalsOf(ownerId: string, contentId: string, rowIds: readonly string[]): Promise<{ rowId: string; ordinal: number }[]>;
  /** Keys of the JSON objects in a column, each with up to `sample` different values as JSON text. */
  jsonFields(ownerId: string, contentId: string, columnKey: number, sample: number): Promise<{ key: string; values: string[] }[]>;
  /** Returns what became of the rows, by their ids, from one content of the owner to another. */
  rowChanges(
    ownerId: string,
    fromContentId: string,
    toContentId: string,
  ): Promise<Pick<VersionChanges, 'rowsAdded' | 'rowsRemoved' | 'rowsEdited'>>;
  /** The rows that differ between two contents of the owner, one page of them: in the order of the later content, those that are gone where they stood. */
  changedRows(
    ownerId: string,
    fromContentId: string,
    toContentId: string,
    page: { from: number; limit: number },
  ): Promise<ChangedRow[]>;
  deleteOwner(ownerId: string): Promise<void>;
}

/** Where a row stood before and where it stands now; undefined where it is not there. */
export interface ChangedRow {
  rowId: string;
  before: { ordinal: number; rowKey: number } | undefined;
  after: { ordinal: number; rowKey: number } | undefined;
}

export interface NewDatasetVersion extends VersionChanges {
  contentId: string;
  numRows: number;
  columns: Column[];
  by: string;
  at: string;
}

/** A list of datasets to find, in order: names of the interface. */
export interface DatasetQuery {
  viewer: AssetViewer;
  filters: readonly DatasetFilter[];
  sort: DatasetSort | null;
  page: PageRequest;
}

export interface ProjectOfDataset {
  id: string;
  name: string;
  createdAt: string;
  updatedAt: string;
  createdBy: UserInfo;
}

/** Stores datasets without their rows. A deleted dataset is found by `version` only. */
export interface DatasetStore {
  /** Publishes a dataset with its first version (index 1). @throws ServiceError `Conflict` when the name is taken. */
  insert(dataset: NewDataset, first: NewDatasetVersion): Promise<void>;
  find(by: { id: string } | { name: string }): Promise<Dataset | undefined>;
  query(query: DatasetQuery): Promise<PageOf<Dataset>>;
  count(query: Pick<DatasetQuery, 'viewer' | 'filters'>): Promise<number>;
  /** A published version; the current one without `versionIndex`. */
  version(datasetId: string, versionIndex?: number): Promise<DatasetVersion | undefined>;
  versions(datasetId: string, ascending: boolean, page: PageRequest): Promise<PageOf<DatasetVersion>>;
  /** Hands out keys; both counts may be 0. Undefined when there is no such dataset. */
  takeKeys(datasetId: string, rows: number, columns: number): Promise<{ rowKey: number; columnKey: number } | undefined>;
  /** Publishes the version after `replaces`; undefined when another came first or the dataset is gone. */
  publish(datasetId: string, replaces: number, version: NewDatasetVersion): Promise<number | undefined>;
  /** @throws ServiceError `Conflict` when the name is taken. */
  update(
    datasetId: string,
    changes: { name?: string | undefined; draft?: false | undefined; columnMapping?: unknown },
  ): Promise<void>;
  /** False when there is no such version. */
  nameVersion(datasetId: string, versionIndex: number, name: string | null): Promise<boolean>;
  /** Hides the dataset and frees its name. False when there is none. */
  remove(datasetId: string): Promise<boolean>;
  /** Names that start with `prefix`, of what the viewer sees. */
  namesFrom(prefix: string, viewer: AssetViewer): Promise<string[]>;
  /** Notes that a project uses the dataset, as of now. */
  link(datasetId: string, projectId: string): Promise<void>;
  projectsOf(datasetId: string): Promise<ProjectOfDataset[]>;
  users(ids: readonly string[]): Promise<ReadonlyMap<string, UserInfo>>;
  /**
   * Datasets deleted before `before` (ISO 8601) that no experiment names any more, row storages of runs that are gone, and lists of chosen rows from
   * before that time that no experiment names.
   */
  unused(before: string): Promise<{ datasetIds: string[]; runs: { runId: string; storageId: string }[]; selections: string[] }>;
  /** Notes that a list of chosen rows is about to be stored for a run. */
  noteSelection(storageId: string, runId: string): Promise<void>;
  forgetSelection(storageId: string): Promise<void>;
  forgetDataset(datasetId: string): Promise<void>;
  runRows(runId: string): Promise<RunRowsEntry | undefined>;
  /** False when rows of this run are published already. */
  publishRunRows(runId: string, entry: RunRowsEntry): Promise<boolean>;
  forgetRunRows(runId: string): Promise<void>;
}

export interface NewDataset {
  id: string;
  name: string;
  hidden: boolean;
  draft: boolean;
  columnMapping: unknown;
  /** The project that it belongs to; undefined: it is the organization's. */
  projectId: string | undefined;
  nextRowKey: number;
  nextColumnKey: number;
}

export interface RunRowsEntry {
  storageId: string;
  numRows: number;
  columns: Column[];
}
