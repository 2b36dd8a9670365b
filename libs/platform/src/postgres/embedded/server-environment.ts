/** What Postgres' programs need of our environment. Everything else may be a secret, or a setting meant for clients. */
const NEEDED = ['PATH', 'LD_LIBRARY_PATH', 'DYLD_LIBRARY_PATH', 'TZ', 'TMPDIR'];

/** A server shows its environment to everyone who may read its process, so that it gets no more than it needs. */
export function serverEnvironment(ours: NodeJS.ProcessEnv = process.env): NodeJS.ProcessEnv {
  return { ...Object.fromEntries(NEEDED.flatMap((name) => (ours[name] ? [[name, ours[name]]] : []))), LC_ALL: 'C' };
}
