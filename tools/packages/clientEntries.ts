/** Entries of the package: the client itself, and loggers for libraries that the client does not need. File and path of the package. */
export const clientEntries: Record<string, string> = {
  index: '.',
  aiSdk: './aiSdk',
  langchain: './langchain',
  openai: './openai',
  express: './express',
  fetchHandler: './fetchHandler',
};
