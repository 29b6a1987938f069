import { text } from './parameters.ts';

/** The parameters of the link that an administrator hands on. */
export interface SignUpAddress {
  token?: string | undefined;
  email?: string | undefined;
}

export const signUpAddress = (given: Record<string, unknown>): SignUpAddress => ({
  token: text(given.token),
  email: text(given.email),
});
