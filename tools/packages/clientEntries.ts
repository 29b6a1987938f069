/** What is imported from the package: the client itself, and what logs for libraries that it does not need. File and path of the package. */
export const clientEntries: Record<string, string> = {
  index: '.',
  aiSdk: './aiSdk',
  langchain: './langchain',
  openai: './openai',
  express: './express',
  fetchHandler: './fetchHandler',
};
