import { generateKeyPairSync } from 'node:crypto';

const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 });

/** The key that verifies the assertions of {@link serviceAccount}. */
export { publicKey as serviceAccountPublicKey };

/** The key file of a service account of Google Cloud. */
export const serviceAccount = {
  ...{ type: 'service_account', project_id: 'p-1', private_key_id: 'k-1', client_email: 'caller@p-1.iam.gserviceaccount.com' },
  private_key: privateKey.export({ type: 'pkcs8', format: 'pem' }),
};
