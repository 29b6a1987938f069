/** Of the service, its command and its API document: released together. */
export const VERSION = '0.1.0';
