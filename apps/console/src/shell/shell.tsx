import { Select } from '@base-ui/react/select';
import { useQuery } from '@tanstack/react-query';
import { Link, Outlet, useNavigate, useRouterState } from '@tanstack/react-router';
import { ChevronDown, LogOut, Menu, Moon, Pause, Play, Sun, SunMoon } from 'lucide-react';
import { type ReactNode, useEffect, useState } from 'react';
import { useLive } from '../live/live.js';
import { count } from '../parts/format.js';
import { session, useCaller, useSession } from '../session/session.js';
import { Find } from './find.js';
import { NAVIGATION } from './navigation.js';
import { nextTheme, themeNow } from './theme.js';

/** The sidebar, the header, and the screen. */
export function Shell(): ReactNode {
  const [isMenuOpen, setMenuOpen] = useState(false);
  const path = useRouterState({ select: ({ location }) => location.pathname });
  useEffect(() => setMenuOpen(false), [path]);
  return (
    <div className="app" data-menu={isMenuOpen ? 'open' : 'closed'}>
      <Sidebar />
      <div>
        <header className="top">
          <button
            className="button menu-button"
            type="button"
            aria-label="Menu"
            aria-expanded={isMenuOpen}
            onClick={() => setMenuOpen(!isMenuOpen)}
          >
            <Menu size={16} aria-hidden="true" />
          </button>
          <Title />
          <span className="space" />
          <LiveButton />
          <Find />
          <NamespaceSwitch />
        </header>
        <main>
          <Outlet />
        </main>
      </div>
    </div>
  );
}

function Sidebar(): ReactNode {
  const { may, me } = useCaller();
  const { token } = useSession();
  const [theme, setTheme] = useState(themeNow());
  const Icon = { auto: SunMoon, light: Sun, dark: Moon }[theme];
  return (
    <aside className="side">
      <div className="brand">
        <i aria-hidden="true">R</i>Rollcall
      </div>
      <nav aria-label="Screens">
        {NAVIGATION.map(({ title, items }) => {
          const shown = items.filter(({ needs }) => may(needs));
          return (
            shown.length > 0 && (
              <div key={title ?? 'first'}>
                {title !== undefined && <div className="nav-group">{title}</div>}
                {shown.map(({ to, label, icon: ItemIcon }) => (
                  <Link
                    key={to}
                    to={to}
                    className="nav"
                    activeProps={{ className: 'nav active' }}
                    activeOptions={{ exact: to === '/', includeSearch: false }}
                  >
                    <ItemIcon size={16} aria-hidden="true" />
                    {label}
                  </Link>
                ))}
              </div>
            )
          );
        })}
      </nav>
      <div className="foot">
        <Cluster />
        <span title={me.id}>
          {me.name} · {me.roles.join(', ')}
        </span>
        <div className="buttons">
          <button
            className="button quiet"
            type="button"
            aria-label={`Colours: ${theme}`}
            title={`Colours: ${theme}`}
            onClick={() => setTheme(nextTheme())}
          >
            <Icon size={16} aria-hidden="true" />
          </button>
          {token !== undefined && (
            <button className="button quiet" type="button" onClick={() => void session.signOut()}>
              <LogOut size={16} aria-hidden="true" /> Sign out
            </button>
          )}
        </div>
      </div>
    </aside>
  );
}

function Cluster(): ReactNode {
  const { api } = useCaller();
  const { sequence } = useLive();
  const { data } = useQuery({
    queryKey: ['summary'],
    queryFn: async ({ signal }) => await api.registry.summary({ signal }),
  });
  if (!data) return null;
  return (
    <span>
      {count(data.replicas)} {data.replicas === 1 ? 'replica' : 'replicas'} · sequence{' '}
      {count(Number(sequence ?? data.sequence))}
    </span>
  );
}

/** The screen sets the title of the page; the header shows the same words. */
function Title(): ReactNode {
  const [title, setTitle] = useState('Rollcall');
  useEffect(() => {
    const element = document.querySelector('title');
    if (!element) return undefined;
    const read = (): void => setTitle(document.title.replace(/ · Rollcall$/, ''));
    const observer = new MutationObserver(read);
    observer.observe(element, { childList: true });
    read();
    return () => observer.disconnect();
  }, []);
  return <h1>{title}</h1>;
}

function LiveButton(): ReactNode {
  const { state, held, toggle } = useLive();
  if (state === 'off') return <span className="live off">not live</span>;
  const isPaused = state === 'paused';
  const Icon = isPaused ? Play : Pause;
  const text = isPaused ? `paused, ${count(held)} held back` : state === 'live' ? 'live' : 'connecting';
  return (
    <button
      type="button"
      className={`live ${isPaused ? 'paused' : state === 'live' ? '' : 'off'}`}
      title={isPaused ? 'Show what was held back' : 'Hold changes back'}
      aria-pressed={isPaused}
      onClick={toggle}
    >
      {text}
      <Icon size={12} aria-hidden="true" />
    </button>
  );
}

/** Lists the namespaces that the credential gives access to. */
function NamespaceSwitch(): ReactNode {
  const { me, api, may, namespace } = useCaller();
  const navigate = useNavigate();
  const isEverywhere = me.namespaces.includes('*');
  const { data } = useQuery({
    queryKey: ['namespaces'],
    enabled: isEverywhere && may('namespaces:read'),
    queryFn: async ({ signal }) =>
      (await api.namespaces.list({ limit: 200 }, { signal }).page()).items.map(({ name }) => name),
  });
  const names = isEverywhere ? (data ?? [namespace]) : me.namespaces;
  if (names.length < 2) return <span className="muted secondary">{namespace}</span>;
  return (
    <Select.Root
      value={namespace}
      onValueChange={(ns) => void navigate({ to: '/', search: ns === null ? {} : { ns } })}
    >
      <Select.Trigger className="field select" aria-label="Namespace">
        <Select.Value />
        <ChevronDown size={14} aria-hidden="true" />
      </Select.Trigger>
      <Select.Portal>
        <Select.Positioner className="menu-layer" sideOffset={4}>
          <Select.Popup className="menu">
            {names.map((name) => (
              <Select.Item key={name} value={name} className="menu-item">
                <Select.ItemText>{name}</Select.ItemText>
              </Select.Item>
            ))}
          </Select.Popup>
        </Select.Positioner>
      </Select.Portal>
    </Select.Root>
  );
}
