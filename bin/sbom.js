/**
 * `npm run --silent sbom > sbom.json`: prints an SBOM of the server in the format CycloneDX. The option `--omit=dev` of npm sbom also
 * omits packages that both the server and the tests need, so this program removes the development packages by the lock file.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const FLAGS = ['sbom', '--sbom-format=cyclonedx', '--sbom-type=application', '--package-lock-only'];

const lock = JSON.parse(readFileSync(`${ROOT}/package-lock.json`, 'utf8')).packages;
const output = execFileSync('npm', FLAGS, {
  cwd: ROOT,
  encoding: 'utf8',
  maxBuffer: 1e8,
  stdio: ['ignore', 'pipe', 'ignore'],
});
const bom = JSON.parse(output);

const ofServer = new Set(
  Object.entries(lock)
    .filter(([path, { dev, devOptional }]) => path !== '' && !dev && !devOptional)
    .map(([path, { version }]) => `${path.split('node_modules/').at(-1)}@${version}`),
);
const components = bom.components.filter(({ name, version }) => ofServer.has(`${name}@${version}`));
const refs = new Set([bom.metadata.component['bom-ref'], ...components.map((one) => one['bom-ref'])]);
const dependencies = bom.dependencies
  .filter(({ ref }) => refs.has(ref))
  .map(({ ref, dependsOn = [] }) => ({ ref, dependsOn: dependsOn.filter((one) => refs.has(one)) }));
bom.metadata.component.name = 'rollcall';
console.log(JSON.stringify({ ...bom, components, dependencies }, null, 2));
