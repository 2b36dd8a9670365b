import { type ReactNode, useEffect, useState } from 'react';
import type { UseQueryResult } from '@tanstack/react-query';
import { RollcallError } from '#rollcall/client';

/** An error of the server: its text, code and request id. */
export function Problem({ error }: { error: unknown }): ReactNode {
  const isProblem = error instanceof RollcallError;
  const requestId = isProblem ? error.requestId : undefined;
  return (
    <div className="problem" role="alert">
      <p>{error instanceof Error ? error.message : String(error)}</p>
      {isProblem && (
        <small>
          {error.code}
          {requestId !== undefined && <> · request {requestId}</>}
        </small>
      )}
    </div>
  );
}

export function Empty({ children }: { children: ReactNode }): ReactNode {
  return <p className="notice">{children}</p>;
}

/** What a query shows: its data, an error, or, after 300 ms, that it is loading. */
export function Loaded<Data>({
  query,
  children,
}: {
  query: Pick<UseQueryResult<Data>, 'data' | 'error'>;
  children: (data: Data) => ReactNode;
}): ReactNode {
  const { data, error } = query;
  if (data !== undefined) return children(data);
  return error ? <Problem error={error} /> : <Loading />;
}

function Loading(): ReactNode {
  const [isShown, setShown] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setShown(true), 300);
    return () => clearTimeout(timer);
  }, []);
  return isShown ? <p className="notice">Loading…</p> : <p className="notice" aria-hidden="true" />;
}
