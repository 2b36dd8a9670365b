import { Dialog } from '@base-ui/react/dialog';
import { Search } from 'lucide-react';
import { lazy, type ReactNode, Suspense, useEffect, useState } from 'react';

const Palette = lazy(async () => await import('./palette.js'));

/** Opens the command palette, also by Ctrl-K. It is loaded when it opens for the first time. */
export function Find(): ReactNode {
  const [isOpen, setOpen] = useState(false);
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (event.key.toLowerCase() !== 'k' || !(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey)
        return;
      event.preventDefault();
      setOpen((before) => !before);
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, []);
  return (
    <Dialog.Root open={isOpen} onOpenChange={setOpen}>
      <Dialog.Trigger className="field find">
        <Search size={14} aria-hidden="true" />
        <span className="find-text">Find anything</span>
        <kbd className="secondary" aria-hidden="true">
          Ctrl K
        </kbd>
      </Dialog.Trigger>
      <Dialog.Portal>
        <Dialog.Backdrop className="dialog-back" />
        <Dialog.Popup className="dialog palette" aria-label="Find anything">
          <Suspense fallback={<p className="notice">Loading…</p>}>
            <Palette onClose={() => setOpen(false)} />
          </Suspense>
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  );
}
