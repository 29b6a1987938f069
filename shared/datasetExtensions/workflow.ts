/** Names that the starter of an extension and its workflow share. They are in histories and on servers: a name that was released stays. */
export const EXTEND_DATASET = 'extendDataset';
export const extensionWorkflowId = (datasetId: string): string => `extend-dataset/${datasetId}`;

export interface ExtendInput {
  datasetId: string;
}
