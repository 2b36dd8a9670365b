import { Database } from '#rollcall/platform';
import { stormReplica } from '#rollcall/platform/testing';
/** One of the processes that write in a storm: sixteen writers, a sequencer and all that a replica has. */

const [url = '', writers = '', agents = '', durationMs = ''] = process.argv.slice(2);
const db = new Database({ url, poolSize: Number(writers) + 2, operationTimeoutMs: 5_000 });
const options = { writers: Number(writers), agents: Number(agents), durationMs: Number(durationMs) };
process.send?.('ready');
process.send?.(await stormReplica(db, options));
await db.close();
process.disconnect();
