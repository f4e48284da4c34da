using System;
using System.Collections.Generic;
using System.Linq;
using System.Threading.Tasks;

namespace Example.Shop
{
    /// <summary>Where an order is on its way.</summary>
    public enum OrderState
    {
        Open,
        Paid,
        Shipped,
    }

    public record OrderLine(string Sku, int Count, decimal Price);

    public interface IPayment
    {
        Task<bool> ChargeAsync(decimal amount, string reference);
    }

    public delegate void OrderChanged(Order order, OrderState before);

    /// <summary>
    /// An order with its lines. It is changed through its methods alone, so that
    /// a shipped order cannot grow.
    /// </summary>
    [Serializable]
    public sealed class Order
    {
        private readonly List<OrderLine> _lines = new();

        public event OrderChanged? Changed;

        public Order(string number)
        {
            Number = number ?? throw new ArgumentNullException(nameof(number));
        }

        public string Number { get; }

        public OrderState State { get; private set; } = OrderState.Open;

        /// <summary>What all lines cost together.</summary>
        public decimal Total
        {
            get { return _lines.Sum(line => line.Count * line.Price); }
        }

        public void Add(OrderLine line)
        {
            if (State != OrderState.Open)
            {
                throw new InvalidOperationException($"Order {Number} is {State}; open a new one.");
            }
            _lines.Add(line);
        }

        // The reference lets the bank recognise a charge that is sent twice.
        [Retry(Times = 3)]
        public async Task<bool> PayAsync(IPayment payment)
        {
            var reference = $"{Number}-{Total:0.00}";
            if (!await payment.ChargeAsync(Total, reference))
            {
                return false;
            }
            Move(OrderState.Paid);
            return true;

            void Move(OrderState next)
            {
                var before = State;
                State = next;
                Changed?.Invoke(this, before);
            }
        }

        public static Order operator +(Order order, OrderLine line)
        {
            order.Add(line);
            return order;
        }
    }

    internal static class OrderExtensions
    {
        public static IEnumerable<OrderLine> Dearest(this IEnumerable<OrderLine> lines, int count)
        {
            return lines.OrderByDescending(line => line.Price).Take(count);
        }
    }
}
