import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { parse } from 'yaml';

interface Service {
  cap_drop?: string[];
  security_opt?: string[];
}

const file = readFileSync(resolve(import.meta.dirname, '../../docker-compose.yml'), 'utf8');
const { services } = parse(file, { merge: true }) as { services: Record<string, Service> };

describe('docker-compose.yml', () => {
  it('A21 drops all capabilities and forbids new privileges in every service', () => {
    expect(Object.keys(services)).toEqual(expect.arrayContaining(['api-1', 'postgres', 'proxy']));
    for (const [name, { cap_drop: dropped, security_opt: options }] of Object.entries(services))
      expect({ name, dropped, options }).toEqual({ name, dropped: ['ALL'], options: ['no-new-privileges:true'] });
  });
});
