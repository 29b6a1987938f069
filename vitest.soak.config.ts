import { defineConfig } from 'vitest/config';
import base from './vitest.config.ts';

/** `npm run test:soak`: the whole service killed, cut off from its servers, replaced or flooded, for a minute or more. CI runs these, too. */
export default defineConfig({ ...base, test: { ...base.test, include: ['test/soaks/*.test.ts'] } });
