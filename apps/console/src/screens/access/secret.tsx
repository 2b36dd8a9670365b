import { type ReactNode, useRef } from 'react';

interface SecretProps {
  /** What the secret is for. */
  title: string;
  secret: string;
  onDone: () => void;
}

/** A new secret. The server returns it only once, and the page keeps it only while it is shown. */
export function Secret({ title, secret, onDone }: SecretProps): ReactNode {
  const shown = useRef<HTMLElement>(null);
  const copy = (): void => {
    // without HTTPS, browsers have no clipboard: the text is selected instead
    if (isSecureContext) void navigator.clipboard.writeText(secret);
    else if (shown.current) getSelection()?.selectAllChildren(shown.current);
  };
  return (
    <div className="secret" role="status">
      <p>
        <b>{title}</b> Copy it now: it cannot be shown again.
      </p>
      <code className="mono" ref={shown}>
        {secret}
      </code>
      <div className="buttons">
        <button className="button primary" type="button" onClick={copy}>
          Copy
        </button>
        <button className="button" type="button" onClick={onDone}>
          Done
        </button>
      </div>
    </div>
  );
}
