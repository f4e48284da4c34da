<?php

declare(strict_types=1);

namespace Example\Http;

use Closure;
use InvalidArgumentException;

/** What may stand at an address. */
interface Handler
{
    public function handle(Request $request): Response;
}

enum Method: string
{
    case Get = 'GET';
    case Post = 'POST';

    public function isSafe(): bool
    {
        return $this === self::Get;
    }
}

trait HasMiddleware
{
    /** @var list<Closure> */
    private array $middleware = [];

    public function with(Closure $middleware): static
    {
        $this->middleware[] = $middleware;

        return $this;
    }
}

/**
 * Finds the handler of a request.
 *
 * Addresses are taken in the order in which they were added; the first that
 * fits is the one.
 */
#[Service]
final class Router
{
    use HasMiddleware;

    private const PARAMETER = '/\{(\w+)\}/';

    /** @var array<string, array<string, Handler>> */
    private array $routes = [];

    public function __construct(private readonly Handler $notFound)
    {
    }

    // Parameters are named in braces: /users/{id}.
    #[Pure]
    public function add(Method $method, string $path, Handler $handler): self
    {
        if ($path === '' || $path[0] !== '/') {
            throw new InvalidArgumentException("The address {$path} must begin with a slash.");
        }
        $pattern = preg_replace(self::PARAMETER, '(?P<$1>[^/]+)', $path);
        $this->routes[$method->value]["#^{$pattern}$#"] = $handler;

        return $this;
    }

    public function handle(Request $request): Response
    {
        foreach ($this->routes[$request->method()] ?? [] as $pattern => $handler) {
            if (preg_match($pattern, $request->path(), $found) !== 1) {
                continue;
            }
            $named = array_filter($found, 'is_string', ARRAY_FILTER_USE_KEY);
            $next = fn (Request $inner): Response => $handler->handle($inner);
            foreach (array_reverse($this->middleware) as $middleware) {
                $next = static fn (Request $inner): Response => $middleware($inner, $next);
            }

            return $next($request->withParameters($named));
        }

        return $this->notFound->handle($request);
    }
}

function redirect(string $to, int $status = 302): Response
{
    return new Response('', $status, ['Location' => $to]);
}
