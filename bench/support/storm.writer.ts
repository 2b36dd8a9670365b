import { Database } from '#rollcall/platform';
import { stormReplica } from '#rollcall/platform/testing';
/** A writing process of the event storm: writers, a sequencer and the other event services of a replica. */

const [url = '', writers = '', agents = '', durationMs = ''] = process.argv.slice(2);
const db = new Database({ url, poolSize: Number(writers) + 2, operationTimeoutMs: 5_000 });
const options = { writers: Number(writers), agents: Number(agents), durationMs: Number(durationMs) };
process.send?.('ready');
process.send?.(await stormReplica(db, options));
await db.close();
process.disconnect();
