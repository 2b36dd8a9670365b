import { pino } from 'pino';
import { AdminKeys } from '#rollcall/platform';
import { VendorRegistry } from '#rollcall/providers';
import { createApp } from '../../../apps/api/src/app.js';
import { ensureAdminKey } from '../../../apps/api/src/boot/admin-key.js';
import { databaseOptions } from '../../../apps/api/src/boot/start.js';
import { loadConfig } from '../../../apps/api/src/config/config.loader.js';
import { STORM_VENDOR } from './storm.model.js';

/** Rollcall with the model of the storm, on a migrated database. It sends its URL to the process that started it. */
const { DATABASE_URL: url = '', ...environment } = process.env;
// a living replica on a busy machine must not lose its leases, and the replicas crash without a fault of the runs
const config = loadConfig(environment, '/nowhere', {
  runtime: { runs: { leaseMs: 10_000, maxCrashesInStep: 10, sharePerAgent: 1 } },
});
const app = await createApp({ config, database: databaseOptions(config, url), pino: pino({ level: 'silent' }) });
app.nest.get(VendorRegistry, { strict: false }).register(STORM_VENDOR);
await ensureAdminKey(app.nest.get(AdminKeys, { strict: false }), config, false);
await app.nest.listen(0, '127.0.0.1');
process.send?.(await app.nest.getUrl());
process.on('disconnect', () => process.exit());
