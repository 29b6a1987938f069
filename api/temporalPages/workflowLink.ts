/** Where Temporal's own pages are. */
export interface TemporalPagesPlace {
  url: string | undefined;
  namespace: string;
}

/** The address at which Temporal's own pages show a workflow; undefined where no address of them is known. */
export const workflowLink = ({ url, namespace }: TemporalPagesPlace, workflowId: string): string | undefined =>
  url === undefined
    ? undefined
    : `${url}/namespaces/${encodeURIComponent(namespace)}/workflows/${encodeURIComponent(workflowId)}`;
