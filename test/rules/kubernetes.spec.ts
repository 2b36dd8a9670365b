import { spawnSync } from 'node:child_process';
import { cpSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseAllDocuments } from 'yaml';

interface Probe {
  periodSeconds: number;
  failureThreshold: number;
}

interface Manifest {
  apiVersion: string;
  kind: string;
  metadata: { name: string };
  data?: Record<string, string>;
  spec?: {
    replicas?: number;
    selector?: { matchLabels?: Record<string, string> };
    template?: {
      metadata: { labels: Record<string, string> };
      spec: {
        terminationGracePeriodSeconds?: number;
        enableServiceLinks?: boolean;
        securityContext: Record<string, unknown>;
        containers: {
          env?: { name: string }[];
          envFrom?: { configMapRef?: { name: string }; secretRef?: { name: string } }[];
          securityContext: Record<string, unknown>;
          readinessProbe: Probe;
        }[];
      };
    };
  };
}

type Model = new (manifest: object) => { validate(): void };

const ROOT = resolve(import.meta.dirname, '../..');
const FOLDER = join(ROOT, 'deploy/kubernetes');
const OVERLAYS = ['evaluation', 'production'];
const SECRETS = 'POSTGRES_PASSWORD=a\nROLLCALL_ADMIN_KEY=b\nROLLCALL_SEALING_KEY=c\n';
const hasKubectl = spawnSync('kubectl', ['version', '--client']).status === 0;

const manifestsIn = (text: string): Manifest[] =>
  parseAllDocuments(text).map((document) => document.toJS() as Manifest);
const files = globSync('**/*.yaml', { cwd: FOLDER }).filter((path) => !path.endsWith('kustomization.yaml'));

let copy: string;
beforeAll(() => {
  copy = mkdtempSync(join(tmpdir(), 'rollcall-kubernetes-'));
  cpSync(FOLDER, copy, { recursive: true });
  writeFileSync(join(copy, 'overlays/evaluation/secrets.env'), SECRETS);
});
afterAll(() => rmSync(copy, { recursive: true, force: true }));

function rendered(overlay: string): Manifest[] {
  const { stdout, stderr, status } = spawnSync('kubectl', ['kustomize', join(copy, 'overlays', overlay)]);
  expect({ status, stderr: stderr.toString() }).toEqual({ status: 0, stderr: '' });
  return manifestsIn(stdout.toString());
}

const moduleOf = ({ apiVersion }: Manifest): string =>
  (apiVersion.startsWith('monitoring.coreos.com/') ? '@kubernetes-models/prometheus-operator/' : 'kubernetes-models/') +
  apiVersion;

/** Checks required fields and the types of values by the schemas of the API. */
async function validate(manifests: readonly Manifest[]): Promise<void> {
  for (const manifest of manifests) {
    const models = (await import(moduleOf(manifest))) as Record<string, Model | undefined>;
    const Kind = models[manifest.kind];
    if (!Kind) throw new Error(`${manifest.apiVersion} has no ${manifest.kind}`);
    new Kind(manifest).validate();
  }
}

/** The API ignores unknown fields, such as misspelled ones. The compiler finds them, because a literal must not have more fields than its type. */
function unknownFields(manifests: readonly Manifest[]): string {
  const program = manifests.map(
    (manifest, index) =>
      `import type { I${manifest.kind} as Kind${index} } from '${moduleOf(manifest)}';\n` +
      `export const manifest${index}: Kind${index} = ${JSON.stringify(manifest)};\n`,
  );
  const folder = mkdtempSync(join(ROOT, 'node_modules/.cache/kubernetes-'));
  try {
    writeFileSync(join(folder, 'manifests.ts'), program.join(''));
    const options = [
      '--ignoreConfig',
      '--noEmit',
      '--strict',
      '--skipLibCheck',
      '--module',
      'nodenext',
      '--target',
      'esnext',
    ];
    const { stdout } = spawnSync(process.execPath, [
      join(ROOT, 'node_modules/typescript/bin/tsc'),
      ...options,
      join(folder, 'manifests.ts'),
    ]);
    return stdout.toString();
  } finally {
    rmSync(folder, { recursive: true });
  }
}

describe('the manifests for Kubernetes', () => {
  it('B15 each is valid by the schemas of the API, and has no unknown field', async () => {
    const manifests = files.flatMap((path) => manifestsIn(readFileSync(join(FOLDER, path), 'utf8')));
    expect(manifests.length).toBeGreaterThan(8);
    await validate(manifests);
    expect(unknownFields([...manifests, ...(hasKubectl ? OVERLAYS.flatMap(rendered) : [])])).toBe('');
  });

  it('B15 the checks find a wrong type, a missing field and an unknown field', async () => {
    const [deployment] = manifestsIn(readFileSync(join(FOLDER, 'base/deployment.yaml'), 'utf8'));
    if (!deployment) throw new Error('deployment.yaml is empty');
    const { selector: _, ...spec } = deployment.spec ?? {};
    await expect(validate([{ ...deployment, spec }])).rejects.toThrow('selector');
    await expect(validate([{ ...deployment, spec: { ...deployment.spec, replicas: '2' as never } }])).rejects.toThrow(
      'replicas',
    );
    expect(unknownFields([{ ...deployment, spec: { ...deployment.spec, replica: 2 } as never }])).toContain(
      `"replica"' does not exist`,
    );
  });

  it('B15 the replicas are not root, write only to /tmp, and have time to stop', () => {
    const [deployment] = manifestsIn(readFileSync(join(FOLDER, 'base/deployment.yaml'), 'utf8'));
    const pod = deployment?.spec?.template?.spec;
    const [container] = pod?.containers ?? [];
    expect(pod?.securityContext).toMatchObject({ runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } });
    expect(container?.securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    });
    expect(pod?.enableServiceLinks).toBe(false);
    const settings = readFileSync(join(FOLDER, 'base/settings.properties'), 'utf8');
    const seconds = (name: string): number => Number(new RegExp(`^${name}=(\\d+)s$`, 'm').exec(settings)?.[1]);
    const drain = seconds('ROLLCALL_DRAIN_DELAY');
    expect(pod?.terminationGracePeriodSeconds).toBeGreaterThan(drain + seconds('ROLLCALL_SHUTDOWN_TIMEOUT'));
    const probe = container?.readinessProbe ?? { periodSeconds: NaN, failureThreshold: NaN };
    expect(drain).toBeGreaterThanOrEqual(probe.periodSeconds * probe.failureThreshold);
  });

  (hasKubectl ? it.each(OVERLAYS) : it.skip.each(OVERLAYS))(
    'B15 the overlay %s renders, is valid, and refers only to what exists',
    async (overlay) => {
      const manifests = rendered(overlay);
      await validate(manifests);
      const deployment = manifests.find(({ kind }) => kind === 'Deployment');
      const { template, replicas, selector } = deployment?.spec ?? {};
      expect(template?.metadata.labels).toMatchObject(selector?.matchLabels ?? { missing: 'true' });
      expect(replicas).toBe(overlay === 'production' ? undefined : 2);
      const [container] = template?.spec.containers ?? [];
      const named = (kind: string): string[] =>
        manifests.filter((one) => one.kind === kind).map(({ metadata }) => metadata.name);
      const [settings, secret] = container?.envFrom ?? [];
      expect(named('ConfigMap')).toEqual([settings?.configMapRef?.name]);
      // in production, the secret comes from the operator
      expect(overlay === 'production' ? ['rollcall'] : named('Secret')).toEqual([secret?.secretRef?.name]);
    },
  );
});
