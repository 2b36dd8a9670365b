import type { ReactNode } from 'react';
import { useTitle } from '../../parts/parts.js';
import { useCaller } from '../../session/session.js';
import { Keys } from './keys.js';
import { Namespaces } from './namespaces.js';
import { OwnNamespace } from './own-namespace.js';
import { Sinks } from './sinks.js';

/** Who may use this registry, in which namespaces, and where its events go. */
export function Access(): ReactNode {
  useTitle('Access');
  const { may, me } = useCaller();
  return (
    <>
      <OwnNamespace />
      {may('keys:manage') && <Keys />}
      {may('events:read') && <Sinks />}
      {me.namespaces.includes('*') && may('namespaces:read') && <Namespaces />}
    </>
  );
}
