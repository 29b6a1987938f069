/** Version of the service, its command and its API document, which are released together. */
export const VERSION = '0.1.0';
