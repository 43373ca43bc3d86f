package e2e

import (
	"net"
	"sync"
	"time"
)

// Relay carries TCP connections to an API server and can be broken in the ways that networks break.
type Relay struct {
	Addr     string
	target   string
	listener net.Listener

	mu    sync.Mutex
	held  chan struct{} // non-nil while bytes are held back; closed to go on
	asks  bool          // while they are: requests get through nevertheless
	conns map[net.Conn]bool
}

// NewRelay listens on a free port of the loopback interface.
func NewRelay(target string) (*Relay, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	r := &Relay{Addr: l.Addr().String(), target: target, listener: l, conns: map[net.Conn]bool{}}
	go r.accept()
	return r, nil
}

func (r *Relay) accept() {
	for {
		near, err := r.listener.Accept()
		if err != nil {
			return
		}
		go r.serve(near)
	}
}

func (r *Relay) serve(near net.Conn) {
	defer near.Close()
	far, err := net.DialTimeout("tcp", r.target, 5*time.Second)
	if err != nil {
		return
	}
	defer far.Close()
	r.mu.Lock()
	r.conns[near], r.conns[far] = true, true
	r.mu.Unlock()
	var both sync.WaitGroup
	both.Go(func() { r.copy(far, near, true) })
	both.Go(func() { r.copy(near, far, false) })
	both.Wait()
	r.mu.Lock()
	delete(r.conns, near)
	delete(r.conns, far)
	r.mu.Unlock()
}

// copy closes both ends when one of them is closed, as a broken path would.
func (r *Relay) copy(to, from net.Conn, asking bool) {
	defer to.Close()
	defer from.Close()
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		r.mu.Lock()
		held, asks := r.held, r.asks
		r.mu.Unlock()
		if held != nil && !(asking && asks) {
			<-held
		}
		if n > 0 {
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// Hold keeps every byte back in both directions, as a partition does: nothing is refused, nothing arrives.
func (r *Relay) Hold() { r.hold(false) }

// HoldAnswers lets requests through and keeps the answers back.
func (r *Relay) HoldAnswers() { r.hold(true) }

func (r *Relay) hold(asks bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.held == nil {
		r.held = make(chan struct{})
	}
	r.asks = asks
}

// Cut closes every connection; what was held back is lost.
func (r *Relay) Cut() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for c := range r.conns {
		c.Close()
	}
	r.heal()
}

// Heal lets the bytes that were held back go on.
func (r *Relay) Heal() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.heal()
}

func (r *Relay) heal() {
	if r.held != nil {
		close(r.held)
		r.held = nil
	}
}

// Close ends the relay.
func (r *Relay) Close() {
	r.listener.Close()
	r.Cut()
}
