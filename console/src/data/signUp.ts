import { ServiceClient } from '../../../client/http.ts';
import { home } from '../address/home.ts';
import { ofPage } from '../session/session.ts';

/** A client without an account: the service reads no credentials where one is made. */
const client = new ServiceClient({ apiUrl: `${home.api}/v2`, token: async () => 'none', retries: 0 });

/** Makes the account of an invitation. @returns its email */
export const signUp = async (signup_token: string, password: string): Promise<string> =>
  (await client.send<{ email: string }>('/signup', { body: { signup_token, password }, headers: ofPage })).email;
